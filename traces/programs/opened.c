/* The library that opens_library.c opens. */
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void lock_in_library(void) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}
