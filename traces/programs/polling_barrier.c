/* Threads that wait for each other by looking under a mutex again and again, as some barriers do.
 * Arguments: threads, phases, work. In each phase each thread works another multiple of the work. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int threads, phases, arrived;
static long work;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile double sink;

static void *run(void *argument) {
    int number = (int)(long)argument;
    for (int phase = 0; phase < phases; phase++) {
        double value = 1;
        for (long step = work * (1 + (number + phase) % threads); step > 0; step--) value = value * 1.0000001 + 0.5;
        sink = value;
        pthread_mutex_lock(&lock);
        arrived++;
        pthread_mutex_unlock(&lock);
        int here;
        do {
            pthread_mutex_lock(&lock);
            here = arrived;
            pthread_mutex_unlock(&lock);
        } while (here < threads * (phase + 1));
    }
    return NULL;
}

int main(int argc, char **argv) {
    threads = argc > 1 ? atoi(argv[1]) : 2;
    phases = argc > 2 ? atoi(argv[2]) : 10;
    work = argc > 3 ? atol(argv[3]) : 500000;
    if (threads < 1) return 1;
    pthread_t all[threads];
    for (int i = 0; i < threads; i++) pthread_create(&all[i], NULL, run, (void *)(long)i);
    for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
    printf("%d\n", arrived);
    return 0;
}
