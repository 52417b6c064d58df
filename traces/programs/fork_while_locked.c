/* A fork while another thread holds a lock, and with one that handlers hold meanwhile: parent and child record on, each into its own
   journal. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, own = PTHREAD_MUTEX_INITIALIZER,
                       kept = PTHREAD_MUTEX_INITIALIZER;
static sem_t holding, done;

static void *hold(void *unused) {
    pthread_mutex_lock(&held);
    sem_post(&holding);
    sem_wait(&done);
    pthread_mutex_unlock(&held);
    return unused;
}

static void keep(void) {
    pthread_mutex_lock(&kept);
}

static void give_up(void) {
    pthread_mutex_unlock(&kept);
}

int main(void) {
    pthread_t thread;
    int status;
    sem_init(&holding, 0, 0);
    sem_init(&done, 0, 0);
    pthread_create(&thread, NULL, hold, NULL);
    sem_wait(&holding);
    pthread_atfork(keep, give_up, give_up);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 10; i++) {
            pthread_mutex_lock(&own);
            pthread_mutex_unlock(&own);
        }
        _exit(pthread_mutex_trylock(&held) != 0 ? 5 : 6);
    }
    waitpid(child, &status, 0);
    sem_post(&done);
    pthread_join(thread, NULL);
    printf("child %d\n", WEXITSTATUS(status));
    return 0;
}
