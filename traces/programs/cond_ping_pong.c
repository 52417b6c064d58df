/* Two threads that hand a turn to each other by a condition variable: prints the CPU time of a round, in nanoseconds.
 *
 *     cc -O2 -pthread cond_ping_pong.c && ./a.out [ROUNDS] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static long rounds = 100000;
static int turn;

static void play(int own)
{
    for (long i = 0; i < rounds; i++) {
        pthread_mutex_lock(&mutex);
        while (turn != own)
            pthread_cond_wait(&turned, &mutex);
        turn = !own;
        pthread_cond_signal(&turned);
        pthread_mutex_unlock(&mutex);
    }
}

static void *second(void *unused)
{
    play(1);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    struct timespec now;
    rounds = argc > 1 ? atol(argv[1]) : rounds;
    pthread_create(&thread, NULL, second, NULL);
    play(0);
    pthread_join(thread, NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    printf("%.2f\n", ((double)now.tv_sec * 1e9 + (double)now.tv_nsec) / (double)rounds);
    return 0;
}
