/*
 * Workers that take tasks from a queue made of a mutex and a condition variable, which the main thread fills. A few
 * tasks are ten times as long as the others.
 *
 * usage: pool_condvar [WORKERS]
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { TASKS = 400, MAX_WORKERS = 64 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    long tasks[TASKS];
    int first;
    int last;
    int idle;
    int closed;
} queue = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .filled = PTHREAD_COND_INITIALIZER,
};

static volatile double sink;

/* Returns when some worker found the queue empty. */
static void await_idle_worker(void)
{
    int idle;

    do {
        usleep(1000);
        pthread_mutex_lock(&queue.lock);
        idle = queue.idle;
        pthread_mutex_unlock(&queue.lock);
    } while (idle == 0);
}

static void put(long task)
{
    pthread_mutex_lock(&queue.lock);
    queue.tasks[queue.last++] = task;
    pthread_cond_signal(&queue.filled);
    pthread_mutex_unlock(&queue.lock);
}

static void close_queue(void)
{
    pthread_mutex_lock(&queue.lock);
    queue.closed = 1;
    pthread_cond_broadcast(&queue.filled);
    pthread_mutex_unlock(&queue.lock);
}

static long take(void)
{
    long task = -1;

    pthread_mutex_lock(&queue.lock);
    while (queue.first == queue.last && !queue.closed) {
        queue.idle++;
        pthread_cond_wait(&queue.filled, &queue.lock);
    }
    if (queue.first < queue.last)
        task = queue.tasks[queue.first++];
    pthread_mutex_unlock(&queue.lock);
    return task;
}

static void *worker(void *unused)
{
    long task;

    (void)unused;
    while ((task = take()) >= 0) {
        double x = 1.0;
        for (long i = 0; i < task; i++)
            x = x * 1.0000001 + 0.5;
        sink = x;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int workers = argc > 1 ? atoi(argv[1]) : 4;
    pthread_t threads[MAX_WORKERS];
    unsigned long state = 42;

    for (int i = 0; i < workers; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    await_idle_worker();
    for (int i = 0; i < TASKS; i++) {
        long u;

        state = state * 6364136223846793005UL + 1442695040888963407UL;
        u = state >> 44;
        put(u % 20 == 0 ? 4000000 : 300000 + u % 300000);
    }
    close_queue();
    for (int i = 0; i < workers; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
