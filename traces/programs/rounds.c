/* Two threads share the work of each round. What lets the second begin, and what tells that it is done, is told by one and the same
 * condition variable; or, asked for "broadcast", threads wait for the next round, which the first begins by a broadcast. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 60, OTHERS = 2 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static int working, ended, round_number, left;
static volatile double sink;

static void work(int amount)
{
    double x = 1;
    for (int i = 0; i < amount * 1000; i++)
        x = x * 1.0000001 + 1e-9;
    sink = x;
}

static void *works_when_told(void *unused)
{
    pthread_mutex_lock(&mutex);
    while (!ended) {
        while (!working && !ended)
            pthread_cond_wait(&changed, &mutex);
        if (working) {
            pthread_mutex_unlock(&mutex);
            work(200);
            pthread_mutex_lock(&mutex);
            working = 0;
            pthread_cond_signal(&changed);
        }
        pthread_mutex_unlock(&mutex);
        pthread_mutex_lock(&mutex);
    }
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void tell(int what)
{
    pthread_mutex_lock(&mutex);
    while (working)
        pthread_cond_wait(&changed, &mutex);
    if (what == 1)
        working = 1;
    if (what == 2)
        ended = 1;
    if (what)
        pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

static void *works_each_round(void *unused)
{
    for (int last = 0; last < ROUNDS;) {
        pthread_mutex_lock(&mutex);
        while (round_number == last)
            pthread_cond_wait(&changed, &mutex);
        last = round_number;
        pthread_mutex_unlock(&mutex);
        work(200);
        pthread_mutex_lock(&mutex);
        if (--left == 0)
            pthread_cond_signal(&done);
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

static void by_turns(void)
{
    pthread_t other;
    pthread_create(&other, NULL, works_when_told, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        tell(1);
        work(200);
        tell(0);
    }
    tell(2);
    pthread_join(other, NULL);
}

static void by_broadcasts(void)
{
    pthread_t others[OTHERS];
    for (int i = 0; i < OTHERS; i++)
        pthread_create(&others[i], NULL, works_each_round, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        left = OTHERS;
        round_number++;
        pthread_cond_broadcast(&changed);
        while (left > 0)
            pthread_cond_wait(&done, &mutex);
        pthread_mutex_unlock(&mutex);
    }
    for (int i = 0; i < OTHERS; i++)
        pthread_join(others[i], NULL);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "broadcast"))
        by_broadcasts();
    else
        by_turns();
    return 0;
}
