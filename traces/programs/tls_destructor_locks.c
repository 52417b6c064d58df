/* Destructors of thread-specific data run after the start routine, in several rounds, and lock. */
#include <pthread.h>
#include <stdio.h>

static pthread_key_t key;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int rounds;

static void destroy(void *value) {
    pthread_mutex_lock(&mutex);
    rounds++;
    pthread_mutex_unlock(&mutex);
    if (rounds < 4) pthread_setspecific(key, value);
}

static void *work(void *unused) {
    pthread_setspecific(key, &key);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_key_create(&key, destroy);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    printf("%d\n", rounds);
    return 0;
}
