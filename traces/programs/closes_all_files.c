/* A daemon closes every file it did not open, in every way there is. The next one that it opens gets no recorder's number. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutexes[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

/* In turn, so that none is like the one before and is only counted. */
static void *work(void *unused) {
    for (int i = 0; i < 200000; i++) {
        pthread_mutex_lock(&mutexes[i % 2]);
        pthread_mutex_unlock(&mutexes[i % 2]);
    }
    return unused;
}

int main(void) {
    int first = open("/dev/null", O_RDONLY);
    printf("%d\n", first);
    fflush(stdout);
    for (int fd = 3; fd < 4096; fd++) close(fd);
    work(NULL);
    closefrom(3);
    work(NULL);
    if (close_range(3, ~0U, 0) != 0) return 1;
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    pthread_join(thread, NULL);
    return open("/dev/null", O_RDONLY) != 3;
}
