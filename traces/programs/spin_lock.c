/* Spinning on one CPU waits for an owner that cannot run; the hook yields. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_spinlock_t lock;
static long count;

static void *work(void *unused) {
    for (int i = 0; i < 200; i++) {
        pthread_spin_lock(&lock);
        count++;
        if (i % 20 == 0) usleep(100);
        pthread_spin_unlock(&lock);
    }
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    pthread_spin_destroy(&lock);
    printf("%ld\n", count);
    return 0;
}
