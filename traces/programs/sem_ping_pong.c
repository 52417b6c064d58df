/* Two threads hand over to each other. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

enum { ROUNDS = 100 };
static sem_t ping, pong;

static void *answer(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        sem_wait(&ping);
        sem_post(&pong);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_init(&ping, 0, 0);
    sem_init(&pong, 0, 0);
    pthread_create(&thread, NULL, answer, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        sem_post(&ping);
        sem_wait(&pong);
    }
    pthread_join(thread, NULL);
    sem_destroy(&ping);
    sem_destroy(&pong);
    puts("done");
    return 0;
}
