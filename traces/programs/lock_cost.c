/* What an uncontended lock and unlock cost: prints the CPU time of a pair, in nanoseconds.
 *
 *     cc -O2 -pthread lock_cost.c && ./a.out [PAIRS]
 *
 * `cargo xtask bench` runs it alone and recorded. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double cpu_nanos(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    long pairs = argc > 1 ? atol(argv[1]) : 5000000;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    double begin = cpu_nanos();
    for (long i = 0; i < pairs; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    printf("%.2f\n", (cpu_nanos() - begin) / (double)pairs);
    return 0;
}
