/* Blocks in reads, sleeps and polls, one after the other; and makes many calls that do not block. */
#include "await_blocked.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static int pipe_ends[2], sockets[2], event;

static void pause_for(long micros)
{
    struct timespec time = {0, micros * 1000};
    nanosleep(&time, NULL);
}

static void *writer(void *unused)
{
    uint64_t one = 1;
    await_blocked(getpid());
    if (write(pipe_ends[1], "a", 1) != 1)
        return NULL;
    await_blocked(getpid());
    send(sockets[1], "b", 1, 0);
    await_blocked(getpid());
    if (write(event, &one, sizeof one) != sizeof one)
        return NULL;
    await_blocked(getpid());
    if (write(pipe_ends[1], "c", 1) != 1)
        return NULL;
    await_blocked(getpid());
    if (write(pipe_ends[1], " 5\n", 3) != 3)
        return NULL;
    return unused;
}

int main(void)
{
    char byte;
    uint64_t count;
    pthread_t thread;
    int zero = open("/dev/zero", O_RDONLY);
    int null = open("/dev/null", O_WRONLY);
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec soon = {{0, 0}, {0, 400000000}};
    event = eventfd(0, 0);
    if (pipe(pipe_ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
        return 1;
    pthread_create(&thread, NULL, writer, NULL);
    ssize_t got = read(pipe_ends[0], &byte, 1);
    got += recv(sockets[0], &byte, 1, 0);
    got += read(event, &count, sizeof count);
    FILE *stream = fdopen(pipe_ends[0], "r");
    int number = 0;
    got += getc(stream) == 'c';
    got += fscanf(stream, "%d", &number) == 1 && number == 5;
    pthread_join(thread, NULL);
    for (int i = 0; i < 100000; i++) {
        got += read(zero, &byte, 1);
        got += write(null, &byte, 1);
    }
    timerfd_settime(timer, 0, &soon, NULL);
    got += read(timer, &count, sizeof count);
    struct pollfd wanted = {pipe_ends[0], POLLIN, 0};
    int ready = poll(&wanted, 1, 20);
    pause_for(20000);
    printf("%zd bytes, %d ready\n", got, ready);
    return 0;
}
