/* Two threads that work at the same time and wait for each other after each round: they look for a while, with pauses, before they sleep. So do
 * many libraries' threads. On one CPU what they look for cannot come meanwhile. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { ROUNDS = 150, LOOKS = 20000 };

struct post {
    atomic_int there;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
};
static struct post given = {0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
static struct post done = {0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};

static void await(struct post *post) {
    for (int i = 0; i < LOOKS; i++) {
        if (atomic_load_explicit(&post->there, memory_order_acquire))
            break;
        __builtin_ia32_pause();
    }
    pthread_mutex_lock(&post->mutex);
    while (!atomic_load(&post->there))
        pthread_cond_wait(&post->cond, &post->mutex);
    atomic_store(&post->there, 0);
    pthread_mutex_unlock(&post->mutex);
}

static void announce(struct post *post) {
    pthread_mutex_lock(&post->mutex);
    atomic_store(&post->there, 1);
    pthread_cond_signal(&post->cond);
    pthread_mutex_unlock(&post->mutex);
}

static void work(void) {
    for (volatile long step = 0; step < 400000; step++) {
    }
}

static void *worker(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        await(&given);
        work();
        announce(&done);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        announce(&given);
        work();
        await(&done);
    }
    pthread_join(thread, NULL);
    printf("%d\n", ROUNDS);
}
