/* The process ends while its first thread waits for the one that ends it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *leave(void *unused) {
    volatile long sum = 0;
    for (long i = 0; i < 30000000; i++) sum += i;
    pthread_mutex_lock(&mutex);
    puts("leaving");
    exit(7);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, leave, NULL);
    pthread_join(thread, NULL);
    return 0;
}
