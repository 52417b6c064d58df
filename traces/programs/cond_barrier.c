/* A barrier made of a mutex and a condition variable, as many programs have it. */
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 3, PHASES = 4 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int arrived, phase;

static void *work(void *unused) {
    for (int i = 0; i < PHASES; i++) {
        pthread_mutex_lock(&mutex);
        int mine = phase;
        if (++arrived == THREADS) {
            arrived = 0;
            phase++;
            pthread_cond_broadcast(&cond);
        } else {
            while (phase == mine) pthread_cond_wait(&cond, &mutex);
        }
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    printf("%d phases\n", phase);
    return 0;
}
