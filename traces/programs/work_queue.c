/* A queue code: one thread makes tasks of different sizes, others take them from a bounded queue of a mutex and two
 * condition variables. Arguments: workers, tasks, thousands of steps of a mean task. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ROOM 16

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static int queue[ROOM], first, held, done;
static unsigned long total;

static unsigned long task(int steps) {
    unsigned long x = steps;
    for (int i = 0; i < steps; i++) x = x * 6364136223846793005UL + 1442695040888963407UL;
    return x >> 33;
}

static void *work(void *unused) {
    unsigned long sum = 0;
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (held == 0 && !done) pthread_cond_wait(&not_empty, &mutex);
        if (held == 0) {
            total += sum;
            pthread_mutex_unlock(&mutex);
            return unused;
        }
        int steps = queue[first];
        first = (first + 1) % ROOM;
        held--;
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&mutex);
        sum += task(steps);
    }
}

int main(int argc, char **argv) {
    int workers = argc > 1 ? atoi(argv[1]) : 4;
    int tasks = argc > 2 ? atoi(argv[2]) : 4000;
    int mean = 1000 * (argc > 3 ? atoi(argv[3]) : 200);
    pthread_t *all = calloc(workers, sizeof *all);
    if (workers < 1 || !all) return 1;
    for (int i = 0; i < workers; i++) pthread_create(&all[i], NULL, work, NULL);
    unsigned random = 1;
    for (int i = 0; i < tasks; i++) {
        random = random * 1103515245u + 12345u;
        int steps = (int)((unsigned long)mean * (random >> 16 & 1023) / 512);
        pthread_mutex_lock(&mutex);
        while (held == ROOM) pthread_cond_wait(&not_full, &mutex);
        queue[(first + held) % ROOM] = steps;
        held++;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&mutex);
    }
    pthread_mutex_lock(&mutex);
    done = 1;
    pthread_cond_broadcast(&not_empty);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < workers; i++) pthread_join(all[i], NULL);
    printf("%lu\n", total);
    return 0;
}
