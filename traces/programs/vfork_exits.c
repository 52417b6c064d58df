/* A child of vfork shares its parent's memory; its exit is not the parent's. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int main(void) {
    int status;
    pid_t child = vfork();
    if (child == 0) _exit(3);
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    fflush(stdout);
    pthread_mutex_lock(&mutex);
    pthread_kill(pthread_self(), 9);
    return 0;
}
