/* Readers together, writers alone, tries and deadlines. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t reading;

static void *read_it(void *unused) {
    pthread_rwlock_rdlock(&lock);
    sem_post(&reading);
    struct timespec time = {0, 20000000};
    nanosleep(&time, NULL);
    pthread_rwlock_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t thread;
    struct timespec past = {1, 0}, senseless = {0, -1};
    sem_init(&reading, 0, 0);
    pthread_create(&thread, NULL, read_it, NULL);
    sem_wait(&reading);
    printf("%d", pthread_rwlock_tryrdlock(&lock));
    printf(" %d", pthread_rwlock_unlock(&lock));
    printf(" %d", pthread_rwlock_trywrlock(&lock) == EBUSY);
    printf(" %d", pthread_rwlock_timedwrlock(&lock, &past) == ETIMEDOUT);
    printf(" %d", pthread_rwlock_timedrdlock(&lock, &senseless) == EINVAL);
    printf(" %d", pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &past));
    printf(" %d", pthread_rwlock_unlock(&lock));
    printf(" %d", pthread_rwlock_wrlock(&lock));
    printf(" %d\n", pthread_rwlock_unlock(&lock));
    pthread_join(thread, NULL);
    pthread_rwlock_destroy(&lock);
    return 0;
}
