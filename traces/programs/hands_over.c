/* Two threads that hand each other a turn and wait for it by yielding: at no moment may both of them work. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

enum { TURNS = 400 };

static atomic_int turn;

static void *work(void *odd) {
    for (int own = odd != NULL; own < TURNS; own += 2) {
        while (atomic_load(&turn) != own) sched_yield();
        for (volatile long step = 0; step < 300000; step++) {
        }
        atomic_store(&turn, own + 1);
    }
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, &turn);
    work(NULL);
    pthread_join(thread, NULL);
    printf("%d\n", atomic_load(&turn));
}
