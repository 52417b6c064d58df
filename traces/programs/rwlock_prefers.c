/* A readers-writer lock whose readers wait for writers that wait, and one as it is by default. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

int main(void) {
    pthread_rwlock_t lock, other;
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    int failed = pthread_rwlock_init(&lock, &attributes) || pthread_rwlock_init(&other, NULL);
    for (int round = 0; round < 2; round++) {
        failed |= pthread_rwlock_rdlock(round ? &other : &lock);
        failed |= pthread_rwlock_unlock(round ? &other : &lock);
    }
    puts(failed ? "failed" : "locked");
    return 0;
}
