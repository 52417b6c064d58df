/* Every type of mutex answers as it would unrecorded: what a try says is not always what a lock says. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t make(int type, int robust) {
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    if (robust) pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
    return mutex;
}

static pthread_mutex_t recursive, checking, robust;

static void *die_with_it(void *unused) {
    pthread_mutex_lock(&robust);
    return unused;
}

int main(void) {
    struct timespec senseless = {0, -1};
    pthread_t thread;
    recursive = make(PTHREAD_MUTEX_RECURSIVE, 0);
    checking = make(PTHREAD_MUTEX_ERRORCHECK, 0);
    robust = make(PTHREAD_MUTEX_NORMAL, 1);
    printf("recursive %d", pthread_mutex_lock(&recursive));
    printf(" %d", pthread_mutex_lock(&recursive));
    printf(" %d", pthread_mutex_unlock(&recursive));
    printf(" %d\n", pthread_mutex_unlock(&recursive));
    printf("checking %d", pthread_mutex_lock(&checking));
    printf(" %d", pthread_mutex_lock(&checking) == EDEADLK);
    printf(" %d", pthread_mutex_unlock(&checking));
    printf(" %d\n", pthread_mutex_unlock(&checking) == EPERM);
    pthread_create(&thread, NULL, die_with_it, NULL);
    pthread_join(thread, NULL);
    printf("robust %d", pthread_mutex_lock(&robust) == EOWNERDEAD);
    printf(" %d", pthread_mutex_unlock(&robust));
    printf(" %d\n", pthread_mutex_lock(&robust) == ENOTRECOVERABLE);
    printf("timed %d\n", pthread_mutex_clocklock(&recursive, CLOCK_PROCESS_CPUTIME_ID, &senseless));
    printf("self %d\n", pthread_join(pthread_self(), NULL) == EDEADLK);
    return 0;
}
