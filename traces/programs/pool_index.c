/*
 * Workers that take tasks by an index that a mutex guards, in short phases that end at a barrier. Some tasks are six
 * times as long as the others.
 *
 * usage: pool_index [WORKERS]
 */
#include <pthread.h>
#include <stdlib.h>

enum { PHASES = 20, TASKS = 24, MAX_WORKERS = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static int next_task;
static volatile double sink;

static int take(void)
{
    int task;

    pthread_mutex_lock(&lock);
    task = next_task++;
    pthread_mutex_unlock(&lock);
    return task;
}

static void *worker(void *unused)
{
    (void)unused;
    for (int phase = 0; phase < PHASES; phase++) {
        int task;
        while ((task = take()) < TASKS) {
            long length = (task * 7 + phase) % 12 == 0 ? 3000000 : 500000;
            double x = 1.0;
            for (long i = 0; i < length; i++)
                x = x * 1.0000001 + 0.5;
            sink = x;
        }
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            next_task = 0;
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int workers = argc > 1 ? atoi(argv[1]) : 4;
    pthread_t threads[MAX_WORKERS];

    pthread_barrier_init(&barrier, NULL, workers);
    for (int i = 0; i < workers; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < workers; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
