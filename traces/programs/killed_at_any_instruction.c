/* Killed in the midst of what it does again and again, after so many microseconds. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/time.h>

static pthread_mutex_t mutexes[16];
static pthread_rwlock_t locks[16];

int main(int argc, char **argv) {
    int count = argc > 2 ? atoi(argv[2]) : 1;
    int reads = argc > 3;
    struct itimerval once = {{0, 0}, {0, argc > 1 ? atoi(argv[1]) : 5000}};
    setitimer(ITIMER_REAL, &once, NULL);
    for (unsigned i = 0; reads; i++) {
        pthread_rwlock_rdlock(&locks[i % count]);
        pthread_rwlock_unlock(&locks[i % count]);
    }
    for (unsigned i = 0;; i++) {
        pthread_mutex_lock(&mutexes[i % count]);
        pthread_mutex_unlock(&mutexes[i % count]);
    }
}
