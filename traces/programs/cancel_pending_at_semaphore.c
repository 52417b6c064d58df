/* sem_wait is a cancellation point even when there is a token: a hook that tries first must not take it. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t go, token;

static void *work(void *unused) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    sem_wait(&go);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    sem_wait(&token);
    return unused;
}

int main(void) {
    pthread_t thread;
    void *result;
    int left;
    sem_init(&go, 0, 0);
    sem_init(&token, 0, 1);
    pthread_create(&thread, NULL, work, NULL);
    pthread_cancel(thread);
    sem_post(&go);
    pthread_join(thread, &result);
    sem_getvalue(&token, &left);
    printf("cancelled %d, tokens left %d\n", result == PTHREAD_CANCELED, left);
    return 0;
}
