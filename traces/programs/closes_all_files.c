/* A daemon closes every file it did not open. The next one that it opens gets no recorder's number. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int main(void) {
    int first = open("/dev/null", O_RDONLY);
    printf("%d\n", first);
    fflush(stdout);
    for (int fd = 3; fd < 4096; fd++) close(fd);
    for (int i = 0; i < 20000; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    return 0;
}
