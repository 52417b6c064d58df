/* What an uncontended lock and unlock cost: prints the CPU time of a pair, in nanoseconds.
 *
 *     cc -O2 -pthread lock_cost.c && ./a.out [PAIRS [MUTEXES [THREADS]]]
 *
 * Each thread locks its own mutexes in turn; with more than four, no pair is counted in place of being recorded. `cargo
 * xtask bench` runs it alone and recorded. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_MUTEXES = 64, MOST_THREADS = 64 };

static long pairs = 5000000;
static long mutexes = 1;

static double cpu_nanos(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void *work(void *result)
{
    pthread_mutex_t mutex[MOST_MUTEXES];
    for (long i = 0; i < mutexes; i++)
        pthread_mutex_init(&mutex[i], NULL);
    double begin = cpu_nanos();
    for (long i = 0, next = 0; i < pairs; i++) {
        pthread_mutex_lock(&mutex[next]);
        pthread_mutex_unlock(&mutex[next]);
        next = next + 1 < mutexes ? next + 1 : 0;
    }
    *(double *)result = (cpu_nanos() - begin) / (double)pairs;
    return NULL;
}

int main(int argc, char **argv)
{
    pairs = argc > 1 ? atol(argv[1]) : pairs;
    mutexes = argc > 2 ? atol(argv[2]) : 1;
    long threads = argc > 3 ? atol(argv[3]) : 1;
    pthread_t thread[MOST_THREADS];
    double nanos[MOST_THREADS], sum = 0;
    if (mutexes < 1 || mutexes > MOST_MUTEXES || threads < 1 || threads > MOST_THREADS)
        return 2;
    for (long i = 1; i < threads; i++)
        pthread_create(&thread[i], NULL, work, &nanos[i]);
    work(&nanos[0]);
    for (long i = 1; i < threads; i++)
        pthread_join(thread[i], NULL);
    for (long i = 0; i < threads; i++)
        sum += nanos[i];
    printf("%.2f\n", sum / (double)threads);
    return 0;
}
