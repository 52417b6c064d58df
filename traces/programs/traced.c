/* A process is traced by its parent, as under strace: stopped before and after each of its system calls. It locks a mutex
   often, which takes none. Prints whether there were few stops, and how the process ended. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t thread;
    /* Programs that have no threads are not recorded. */
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        for (int i = 0; i < 5000; i++) work(NULL);
        _exit(7);
    }
    int status = 0, stops = 0;
    waitpid(child, &status, 0);
    while (ptrace(PTRACE_SYSCALL, child, NULL, NULL) == 0) {
        if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) break;
        stops++;
    }
    printf("%s stops, then %d\n", stops < 4000 ? "few" : "many", WEXITSTATUS(status));
    return 0;
}
