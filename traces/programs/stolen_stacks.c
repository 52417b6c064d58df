/* Threads of which each has a stack of tasks, and takes from the others' when its own is empty, between barriers made of a
 * mutex and a condition variable with a cycle. One thread less is created than there are: the creator works as well.
 * Arguments: threads, frames, tasks of each thread and frame. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct stack {
    pthread_mutex_t lock;
    int left;
    char padding[64];
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t all_there;
    int arrived, cycle;
} barrier = {.lock = PTHREAD_MUTEX_INITIALIZER, .all_there = PTHREAD_COND_INITIALIZER};

static int threads, frames, tasks, number;
static pthread_mutex_t number_lock = PTHREAD_MUTEX_INITIALIZER;
static struct stack *stacks;
static double *results;

static void wait_for_all(void) {
    pthread_mutex_lock(&barrier.lock);
    int cycle = barrier.cycle;
    if (++barrier.arrived != threads) {
        while (cycle == barrier.cycle) pthread_cond_wait(&barrier.all_there, &barrier.lock);
    } else {
        barrier.cycle = !cycle;
        barrier.arrived = 0;
        pthread_cond_broadcast(&barrier.all_there);
    }
    pthread_mutex_unlock(&barrier.lock);
}

static __attribute__((noinline)) int take(struct stack *stack) {
    pthread_mutex_lock(&stack->lock);
    int task = stack->left > 0 ? stack->left-- : 0;
    pthread_mutex_unlock(&stack->lock);
    return task;
}

static int take_from_any(int own) {
    for (int i = 0; i < threads; i++) {
        int task = take(&stacks[(own + i) % threads]);
        if (task) return task;
    }
    return 0;
}

static double work(int task) {
    double sum = 0;
    for (int i = 1; i < 2000 + task % 7 * 4000; i++) sum += 1.0 / (i * (double)i);
    return sum;
}

static void *run(void *argument) {
    (void)argument;
    pthread_mutex_lock(&number_lock);
    int own = number++;
    pthread_mutex_unlock(&number_lock);
    for (int frame = 0; frame < frames; frame++) {
        stacks[own].left = own ? tasks : 2 * tasks;
        wait_for_all();
        for (int task; (task = take_from_any(own));) results[own] += work(task);
        wait_for_all();
    }
    return NULL;
}

int main(int argc, char **argv) {
    threads = argc > 1 ? atoi(argv[1]) : 2;
    frames = argc > 2 ? atoi(argv[2]) : 3;
    tasks = argc > 3 ? atoi(argv[3]) : 200;
    if (threads < 1 || tasks < 1) return 1;
    stacks = calloc(threads, sizeof *stacks);
    results = calloc(threads, sizeof *results);
    pthread_t *others = calloc(threads, sizeof *others);
    if (!stacks || !results || !others) return 1;
    for (int i = 0; i < threads; i++) pthread_mutex_init(&stacks[i].lock, NULL);
    for (int i = 1; i < threads; i++) pthread_create(&others[i], NULL, run, NULL);
    run(NULL);
    for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
    double sum = 0;
    for (int i = 0; i < threads; i++) sum += results[i];
    printf("%.3f\n", sum);
    return 0;
}
