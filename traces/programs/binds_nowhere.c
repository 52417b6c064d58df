/* Asks for threads on no CPU at all, and on one that there is not. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static void *work(void *argument) {
    return argument;
}

int main(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    cpu_set_t set;
    pthread_attr_init(&attributes);
    CPU_ZERO(&set);
    for (int way = 0; way < 2; way++) {
        if (way == 1) CPU_SET(1000, &set);
        pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
        printf("%d\n", pthread_create(&thread, &attributes, work, NULL));
    }
    return 0;
}
