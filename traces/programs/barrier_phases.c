/* One thread of each phase is told that it is the serial one. */
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 3, PHASES = 4 };
static pthread_barrier_t barrier;
static int serial;

static void *work(void *unused) {
    for (int i = 0; i < PHASES; i++)
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    printf("%d\n", serial);
    return 0;
}
