/* A handler records in the midst of whatever the thread was recording, and while it waits. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

enum { POSTS = 200 };
static sem_t posted;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int posts;

static void post(int unused) {
    (void)unused;
    if (posts < POSTS) {
        posts++;
        sem_post(&posted);
    }
}

int main(void) {
    struct sigaction action = {.sa_handler = post, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    int locks = 0;
    sem_init(&posted, 0, 0);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (posts < POSTS / 2) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        locks++;
    }
    for (int taken = 0; taken < POSTS; taken++) sem_wait(&posted);
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%d posts\n", posts);
    return locks == 0;
}
