/* Two threads that share out the parts of each round by an atomic counter, as pools of libraries for neural networks do. Each looks for a million times
 * whether the other is done, or there is something to do, before it would sleep: on one CPU that is until it loses the CPU, and the other finds all parts taken. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { ROUNDS = 120, PARTS = 32, LOOKS = 1000000 };

struct post {
    atomic_int there;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
};
static struct post given = {0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
static struct post done = {0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
static atomic_int next;

static void await(struct post *post, int round) {
    for (int i = 0; i < LOOKS; i++) {
        if (atomic_load_explicit(&post->there, memory_order_acquire) >= round)
            return;
        __builtin_ia32_pause();
    }
    pthread_mutex_lock(&post->mutex);
    while (atomic_load(&post->there) < round)
        pthread_cond_wait(&post->cond, &post->mutex);
    pthread_mutex_unlock(&post->mutex);
}

static void announce(struct post *post, int round) {
    pthread_mutex_lock(&post->mutex);
    atomic_store(&post->there, round);
    pthread_cond_signal(&post->cond);
    pthread_mutex_unlock(&post->mutex);
}

static void take_parts(void) {
    while (atomic_fetch_add(&next, 1) < PARTS)
        for (volatile long step = 0; step < 25000; step++) {
        }
}

static void *helps(void *unused) {
    for (int round = 1; round <= ROUNDS; round++) {
        await(&given, round);
        take_parts();
        announce(&done, round);
    }
    return unused;
}

int main(void) {
    pthread_t helper;
    pthread_create(&helper, 0, helps, 0);
    for (int round = 1; round <= ROUNDS; round++) {
        atomic_store(&next, 0);
        announce(&given, round);
        take_parts();
        await(&done, round);
    }
    pthread_join(helper, 0);
    puts("done");
    return 0;
}
