/* The recorder's share of a thread's memory must fit into the smallest stack there is. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused) {
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    printf("%d", pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)));
    printf(" %d", pthread_create(&thread, &attributes, work, NULL));
    printf(" %d\n", pthread_join(thread, NULL));
    return 0;
}
