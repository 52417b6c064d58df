/* Two threads that give up the CPU each time they hold a lock: that is what they do, and no wait. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

enum { ROUNDS = 2000 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *work(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        count++;
        sched_yield();
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    pthread_join(thread, NULL);
    printf("%d\n", count);
}
