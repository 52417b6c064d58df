/* A fork that no handler hears of: the child must not write into its parent's journal. */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock(int times) {
    while (times--) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
}

int main(void) {
    int status;
    lock(3);
    long child = syscall(SYS_fork);
    if (child == 0) {
        lock(7);
        _exit(0);
    }
    waitpid((pid_t)child, &status, 0);
    lock(2);
    printf("child %d\n", WEXITSTATUS(status));
    return 0;
}
