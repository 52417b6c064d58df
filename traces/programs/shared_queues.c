/* Two processes that share a POSIX queue, a System V queue and a set of System V semaphores. */
#define _GNU_SOURCE
#include "await_blocked.h"
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>

struct message {
    long kind;
    char text[8];
};

static void move(int set, int first, int second)
{
    struct sembuf steps[2] = {{0, (short)first, 0}, {1, (short)second, 0}};
    if (semop(set, steps, second ? 2 : 1))
        _exit(8);
}

int main(void)
{
    char name[64], text[8];
    struct message message = {1, "message"};
    struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = sizeof text};
    snprintf(name, sizeof name, "/foretrace-%d", getpid());
    mqd_t there = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attributes);
    mqd_t back = mq_open(name, O_RDWR);
    mq_unlink(name);
    int queue = msgget(IPC_PRIVATE, 0600), set = semget(IPC_PRIVATE, 2, 0600);
    if (there == -1 || back == -1 || queue == -1 || set == -1 || semctl(set, 0, SETVAL, 2))
        return 1;
    pid_t child = fork();
    if (child == 0) {
        /* Waits for its parent at each step. */
        for (int i = 0; i < 3; i++)
            if (mq_receive(back, text, sizeof text, NULL) < 0)
                _exit(2);
        if (msgrcv(queue, &message, sizeof message.text, 0, 0) < 0)
            _exit(3);
        move(set, -3, -1);
        _exit(0);
    }
    await_blocked(child);
    for (int i = 0; i < 3; i++)
        if (mq_send(there, "text", 5, 0))
            return 4;
    await_blocked(child);
    if (msgsnd(queue, &message, sizeof message.text, 0))
        return 5;
    await_blocked(child);
    move(set, 1, 0);
    await_blocked(child);
    move(set, 2, 1);
    int status = 1;
    waitpid(child, &status, 0);
    msgctl(queue, IPC_RMID, NULL);
    semctl(set, 0, IPC_RMID);
    printf("status %d\n", status);
    return 0;
}
