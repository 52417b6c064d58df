/* Nobody joins a detached thread; its identity is free for the next one. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t done;

static void *work(void *unused) {
    sem_post(&done);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    sem_init(&done, 0, 0);
    for (int i = 0; i < 5; i++) {
        pthread_create(&thread, NULL, work, NULL);
        pthread_detach(thread);
        sem_wait(&done);
    }
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_create(&thread, &attributes, work, NULL);
    sem_wait(&done);
    puts("done");
    pthread_exit(NULL);
}
