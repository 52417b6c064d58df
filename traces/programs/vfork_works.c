/* What a child of vfork does before it becomes another program is not its parent's doing. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock(int times)
{
    while (times--) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
}

int main(int count, char **arguments)
{
    char *self[] = {arguments[0], "child", NULL};
    struct timespec time = {0, 20000000};
    int status = 1;
    if (count > 1)
        return strcmp(arguments[1], "child") != 0;
    lock(3);
    pid_t child = vfork();
    if (child == 0) {
        lock(1000);
        nanosleep(&time, NULL);
        execve(arguments[0], self, environ);
        _exit(9);
    }
    lock(2);
    waitpid(child, &status, 0);
    lock(1);
    printf("status %d\n", status);
    return 0;
}
