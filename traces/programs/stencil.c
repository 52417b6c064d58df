/* A barrier code: heat that spreads over a plate, step by step, the rows divided among the threads.
 * Arguments: threads, rows and columns of the plate, steps. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int threads, size, steps;
static double *now, *next;
static pthread_barrier_t barrier;

static void *work(void *argument) {
    int number = (int)(long)argument;
    int first = 1 + number * (size - 2) / threads;
    int last = 1 + (number + 1) * (size - 2) / threads;
    for (int step = 0; step < steps; step++) {
        const double *from = step % 2 ? next : now;
        double *to = step % 2 ? now : next;
        for (int row = first; row < last; row++)
            for (int column = 1; column < size - 1; column++) {
                int at = row * size + column;
                to[at] = 0.2 * (from[at] + from[at - 1] + from[at + 1] + from[at - size] + from[at + size]);
            }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv) {
    threads = argc > 1 ? atoi(argv[1]) : 4;
    size = argc > 2 ? atoi(argv[2]) : 400;
    steps = argc > 3 ? atoi(argv[3]) : 2000;
    now = calloc((size_t)size * size, sizeof *now);
    next = calloc((size_t)size * size, sizeof *next);
    pthread_t *all = calloc(threads, sizeof *all);
    if (threads < 1 || size < 3 || !now || !next || !all) return 1;
    for (int column = 0; column < size; column++) now[column] = next[column] = 100;
    pthread_barrier_init(&barrier, NULL, threads);
    for (int i = 0; i < threads; i++) pthread_create(&all[i], NULL, work, (void *)(long)i);
    for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
    printf("%.9f\n", (steps % 2 ? next : now)[size + size / 2]);
    return 0;
}
