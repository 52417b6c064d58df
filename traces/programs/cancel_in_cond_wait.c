/* A thread cancelled in a condition wait is unwound through the hook, with the mutex locked. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t waiting;

static void unlock(void *unused) {
    (void)unused;
    pthread_mutex_unlock(&mutex);
}

static void *wait_for_ever(void *unused) {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, NULL);
    sem_post(&waiting);
    for (;;) pthread_cond_wait(&cond, &mutex);
    pthread_cleanup_pop(1);
    return unused;
}

int main(void) {
    pthread_t thread;
    void *result;
    sem_init(&waiting, 0, 0);
    pthread_create(&thread, NULL, wait_for_ever, NULL);
    sem_wait(&waiting);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("cancelled %d\n", result == PTHREAD_CANCELED);
    printf("unlocked %d\n", pthread_mutex_trylock(&mutex) == 0);
    return 0;
}
