/* A try that fails is not a wait. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t semaphore;

static void *try_it(void *unused) {
    printf("%d\n", pthread_mutex_trylock(&mutex) == EBUSY);
    printf("%d %d\n", sem_trywait(&semaphore), errno == EAGAIN);
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_init(&semaphore, 0, 0);
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, NULL, try_it, NULL);
    pthread_join(thread, NULL);
    pthread_mutex_unlock(&mutex);
    printf("%d\n", pthread_mutex_trylock(&mutex));
    return 0;
}
