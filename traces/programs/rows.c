/* Pictures, each made row by row by one of several threads, as encoders of video do: a row needs the picture before to be some rows
 * ahead. Arguments: threads, pictures, rows, how many rows ahead, work for a row; with another one the threads take the pictures from a
 * queue, into which the main thread puts each when the one that is as many before it as there are threads is done. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64 };

struct picture {
    pthread_mutex_t lock;
    pthread_cond_t told;
    long rows;
};

static struct picture pictures[MOST];
static int threads, count, rows, ahead;
static long work;
static volatile double sink;

/* One more than there are threads, so that none tells on the same one twice in a row. */
static struct picture *of(int number) { return &pictures[number % (threads + 1)]; }

static void wait_for(int number, int row) {
    struct picture *picture = of(number);
    long needed = (long)number * rows + (row < rows ? row : rows);
    pthread_mutex_lock(&picture->lock);
    while (picture->rows < needed) pthread_cond_wait(&picture->told, &picture->lock);
    pthread_mutex_unlock(&picture->lock);
}

static void tell(int number, int row) {
    struct picture *picture = of(number);
    pthread_mutex_lock(&picture->lock);
    picture->rows = (long)number * rows + row;
    pthread_cond_broadcast(&picture->told);
    pthread_mutex_unlock(&picture->lock);
}

static void make(int number) {
    for (int row = 0; row < rows; row++) {
        if (number > 0) wait_for(number - 1, row + ahead);
        double value = 1;
        for (long step = 0; step < work; step++) value = value * 1.0000001 + 0.5;
        sink = value;
        tell(number, row + 1);
    }
}

static void *run(void *argument) {
    for (int number = (int)(long)argument; number < count; number += threads) make(number);
    return NULL;
}

static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queued = PTHREAD_COND_INITIALIZER;
static int put, taken, is_over;

static void *run_from_queue(void *argument) {
    for (;;) {
        pthread_mutex_lock(&queue);
        while (taken == put && !is_over) pthread_cond_wait(&queued, &queue);
        int number = taken < put ? taken++ : -1;
        pthread_mutex_unlock(&queue);
        if (number < 0) return argument;
        make(number);
    }
}

static void fill_queue(void) {
    for (int number = 0; number < count; number++) {
        if (number >= threads) wait_for(number - threads, rows);
        pthread_mutex_lock(&queue);
        put++;
        pthread_cond_signal(&queued);
        pthread_mutex_unlock(&queue);
    }
    wait_for(count - 1, rows);
    pthread_mutex_lock(&queue);
    is_over = 1;
    pthread_cond_broadcast(&queued);
    pthread_mutex_unlock(&queue);
}

int main(int argc, char **argv) {
    threads = argc > 1 ? atoi(argv[1]) : 4;
    count = argc > 2 ? atoi(argv[2]) : 24;
    rows = argc > 3 ? atoi(argv[3]) : 16;
    ahead = argc > 4 ? atoi(argv[4]) : 8;
    work = argc > 5 ? atol(argv[5]) : 100000;
    if (threads < 1 || threads >= MOST) return 1;
    for (int i = 0; i <= threads; i++) {
        pthread_mutex_init(&pictures[i].lock, NULL);
        pthread_cond_init(&pictures[i].told, NULL);
    }
    pthread_t all[MOST];
    int by_queue = argc > 6;
    for (int i = 0; i < threads; i++)
        pthread_create(&all[i], NULL, by_queue ? run_from_queue : run, (void *)(long)i);
    if (by_queue) fill_queue();
    for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
    printf("%ld\n", of(count - 1)->rows);
    return 0;
}
