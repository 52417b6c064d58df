/* Several threads come to a one-time initialization; one runs it, and does things in it. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static pthread_once_t control = PTHREAD_ONCE_INIT, inner = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int runs;

static void run_inner(void) { runs += 10; }

static void run(void) {
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < 100; i++) sched_yield();
    pthread_once(&inner, run_inner);
    pthread_mutex_unlock(&mutex);
    runs++;
}

static void *work(void *unused) {
    pthread_once(&control, run);
    return unused;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    pthread_once(&control, run);
    printf("%d\n", runs);
    return 0;
}
