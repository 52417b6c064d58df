/* The main thread sleeps until its threads are done, or, asked for "clock", until they are to stop. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_int done, stop;
static int by_clock;

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static void *work(void *seconds)
{
    while (by_clock ? !atomic_load(&stop) : cpu_seconds() < *(double *)seconds)
        ;
    atomic_fetch_add(&done, 1);
    return NULL;
}

int main(int argc, char **argv)
{
    double seconds = 0.06;
    pthread_t threads[2];
    by_clock = argc > 1 && !strcmp(argv[1], "clock");
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, &seconds);
    if (by_clock) {
        for (int i = 0; i < 30; i++)
            usleep(3000);
        atomic_store(&stop, 1);
    }
    while (!by_clock && atomic_load(&done) < 2)
        usleep(3000);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
