/* Two threads take tasks one after the other; on one CPU the first would take all until the kernel's clock ticks. */
#include <pthread.h>

enum { TASKS = 400 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t begin;
static int next;

static void *work(void *unused) {
    pthread_barrier_wait(&begin);
    for (;;) {
        pthread_mutex_lock(&mutex);
        int task = next++;
        pthread_mutex_unlock(&mutex);
        if (task >= TASKS) return unused;
        for (volatile int i = 0; i < 100000; i++) ;
    }
}

int main(void) {
    pthread_t first, second;
    pthread_barrier_init(&begin, NULL, 2);
    pthread_create(&first, NULL, work, NULL);
    pthread_create(&second, NULL, work, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
