/* Waits with a deadline that passes. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;

static struct timespec soon(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += 2000000;
    if (time.tv_nsec >= 1000000000) time.tv_sec++, time.tv_nsec -= 1000000000;
    return time;
}

static void *try_it(void *unused) {
    struct timespec time = soon(CLOCK_REALTIME);
    printf("%d\n", pthread_mutex_timedlock(&other, &time) == ETIMEDOUT);
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_init(&semaphore, 0, 0);
    struct timespec time = soon(CLOCK_REALTIME);
    pthread_mutex_lock(&mutex);
    printf("%d\n", pthread_cond_timedwait(&cond, &mutex, &time) == ETIMEDOUT);
    time = soon(CLOCK_MONOTONIC);
    printf("%d\n", pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &time) == ETIMEDOUT);
    pthread_mutex_unlock(&mutex);
    time = soon(CLOCK_REALTIME);
    printf("%d %d\n", sem_timedwait(&semaphore, &time), errno == ETIMEDOUT);
    time.tv_nsec = -1;
    sem_post(&semaphore);
    printf("%d %d\n", sem_timedwait(&semaphore, &time), errno == EINVAL);
    pthread_mutex_lock(&other);
    pthread_create(&thread, NULL, try_it, NULL);
    pthread_join(thread, NULL);
    return 0;
}
