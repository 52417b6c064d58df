/* Three ways for a thread to end: by return, by pthread_exit, by cancellation. And one not to begin. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *by_return(void *result) { return result; }
static void *by_exit(void *result) { pthread_exit(result); }
static void *by_cancel(void *unused) {
    for (;;) pause();
    return unused;
}

int main(void) {
    pthread_t first, second, third, fourth;
    pthread_attr_t attributes;
    void *result;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1UL << 60);
    printf("fails %d\n", pthread_create(&fourth, &attributes, by_return, NULL) != 0);
    pthread_create(&first, NULL, by_return, (void *)1);
    pthread_create(&second, NULL, by_exit, (void *)2);
    pthread_create(&third, NULL, by_cancel, NULL);
    pthread_join(first, &result);
    printf("%ld", (long)result);
    pthread_join(second, &result);
    printf(" %ld", (long)result);
    pthread_cancel(third);
    pthread_join(third, &result);
    printf(" %d\n", result == PTHREAD_CANCELED);
    return 0;
}
