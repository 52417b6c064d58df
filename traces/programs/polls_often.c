/* Threads that look for a flag under a lock, or try a lock that is held, tens of millions of times. */
#include <pthread.h>
#include <stdio.h>

enum { LOOKS = 15000000, TRIES = 10000000, POLLERS = 2 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static int flag;

static void *look(void *unused) {
    long seen = 0;
    for (int i = 0; i < LOOKS; i++) {
        pthread_mutex_lock(&mutex);
        seen += flag;
        pthread_mutex_unlock(&mutex);
    }
    return seen == 0 ? unused : &flag;
}

static void *try(void *unused) {
    long got = 0;
    for (int i = 0; i < TRIES; i++)
        if (pthread_mutex_trylock(&held) == 0) got++;
    return got == 0 ? unused : &flag;
}

int main(void) {
    pthread_t threads[2 * POLLERS];
    void *result;
    int right = 0;
    pthread_mutex_lock(&held);
    for (int i = 0; i < 2 * POLLERS; i++) pthread_create(&threads[i], NULL, i % 2 ? try : look, NULL);
    for (int i = 0; i < 2 * POLLERS; i++) {
        pthread_join(threads[i], &result);
        right += result == NULL;
    }
    pthread_mutex_unlock(&held);
    printf("%d\n", right);
    return 0;
}
