/* A thread is cancelled while it is blocked in a read. */
#define _GNU_SOURCE
#include "await_blocked.h"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2];
static _Atomic int number;

static void *reader(void *unused)
{
    char byte;
    number = gettid();
    if (read(ends[0], &byte, 1) == 1)
        return unused;
    return NULL;
}

int main(void)
{
    pthread_t thread;
    void *result;
    if (pipe(ends))
        return 1;
    pthread_create(&thread, NULL, reader, &ends);
    while (!number)
        usleep(1000);
    await_blocked(number);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("cancelled %d\n", result == PTHREAD_CANCELED);
    return 0;
}
