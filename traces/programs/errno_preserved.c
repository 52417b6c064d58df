/* Functions that return their error leave errno alone, and so must their hooks. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t semaphore, go;
static int turn, bad;

static void check(int line) {
    if (errno != 77) {
        printf("errno %d at line %d\n", errno, line);
        bad = 1;
    }
    errno = 77;
}
#define CHECK check(__LINE__)

static void *work(void *unused) {
    errno = 77;
    sem_wait(&go);
    CHECK;
    pthread_mutex_lock(&mutex);
    CHECK;
    turn = 1;
    pthread_cond_signal(&cond);
    CHECK;
    pthread_mutex_unlock(&mutex);
    CHECK;
    sem_post(&semaphore);
    CHECK;
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_init(&semaphore, 0, 0);
    sem_init(&go, 0, 0);
    errno = 77;
    for (int i = 0; i < 3000; i++) {
        pthread_mutex_lock(&mutex);
        CHECK;
        pthread_mutex_unlock(&mutex);
        CHECK;
    }
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, NULL, work, NULL);
    errno = 77;
    sem_post(&go);
    CHECK;
    while (!turn) pthread_cond_wait(&cond, &mutex);
    CHECK;
    pthread_mutex_unlock(&mutex);
    sem_wait(&semaphore);
    CHECK;
    pthread_join(thread, NULL);
    CHECK;
    puts(bad ? "bad" : "good");
    return bad;
}
