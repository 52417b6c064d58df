// Work that goes from one process or thread to another through pipes.
//
//   pipes chain N          a child works, writes a byte and works on; the parent reads the byte and works
//   pipes sockets N        the same by a pair of sockets
//   pipes tasks THREADS N  threads read numbers of tasks from a pipe, and answer through another
//   pipes give N           works, then prints a line through a stream
//   pipes take N           reads a line through a stream, then works
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static long amount;
static int asked[2], answered[2];

static void work(long times) {
    for (volatile long i = 0; i < times; i++) {
    }
}

static void must(int ok) {
    if (!ok)
        abort();
}

static void chain(void) {
    char byte = 1;
    pid_t child = fork();
    if (child == 0) {
        work(amount);
        must(write(asked[1], &byte, 1) == 1);
        work(amount / 2);
        _exit(0);
    }
    must(read(asked[0], &byte, 1) == 1);
    work(amount);
    must(waitpid(child, 0, 0) == child);
}

static void *serve(void *unused) {
    (void)unused;
    long task;
    while (read(asked[0], &task, sizeof task) == sizeof task && task >= 0) {
        work(amount);
        must(write(answered[1], &task, sizeof task) == sizeof task);
    }
    return 0;
}

static void tasks(int threads) {
    pthread_t servers[64];
    must(pipe(asked) == 0 && pipe(answered) == 0);
    for (int i = 0; i < threads; i++)
        pthread_create(&servers[i], 0, serve, 0);
    for (int round = 0; round < 5; round++) {
        for (long task = 0; task < 8; task++)
            must(write(asked[1], &task, sizeof task) == sizeof task);
        for (long task = 0; task < 8; task++) {
            long answer;
            must(read(answered[0], &answer, sizeof answer) == sizeof answer);
        }
        // Nobody else has anything to do meanwhile.
        work(4 * amount);
    }
    long end = -1;
    for (int i = 0; i < threads; i++)
        must(write(asked[1], &end, sizeof end) == sizeof end);
    for (int i = 0; i < threads; i++)
        pthread_join(servers[i], 0);
}

int main(int count, char **arguments) {
    const char *what = count > 2 ? arguments[1] : "";
    amount = atol(arguments[count - 1]);
    if (strcmp(what, "chain") == 0) {
        must(pipe(asked) == 0);
        chain();
    } else if (strcmp(what, "sockets") == 0) {
        must(socketpair(AF_UNIX, SOCK_STREAM, 0, asked) == 0);
        chain();
    } else if (strcmp(what, "tasks") == 0) {
        tasks(atoi(arguments[2]));
    } else if (strcmp(what, "give") == 0) {
        work(amount);
        printf("done\n");
    } else if (strcmp(what, "take") == 0) {
        char line[80];
        must(fgets(line, sizeof line, stdin) != 0);
        work(amount);
    } else {
        return 2;
    }
    return 0;
}
