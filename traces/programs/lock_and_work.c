/* A program that polls a flag under a lock, with a little work in between: prints the CPU time of a poll, in
 * nanoseconds.
 *
 *     cc -O2 -pthread lock_and_work.c && ./a.out [POLLS] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int flag;

int main(int argc, char **argv)
{
    long polls = argc > 1 ? atol(argv[1]) : 5000000, seen = 0, work = 3;
    struct timespec now;
    for (long i = 0; i < polls; i++) {
        pthread_mutex_lock(&mutex);
        seen += flag;
        pthread_mutex_unlock(&mutex);
        /* Sixty-four multiplications, one after the other: about 50 nanoseconds. */
        for (int k = 0; k < 64; k++)
            __asm__ volatile("imul %0, %0" : "+r"(work));
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    printf("%.2f\n", ((double)now.tv_sec * 1e9 + (double)now.tv_nsec) / (double)polls);
    return seen != 0;
}
