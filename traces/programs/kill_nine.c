/* Nothing runs in a process after kill -9; what it did before must be there. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int main(void) {
    for (int i = 0; i < 5000; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    puts("now");
    fflush(stdout);
    raise(SIGKILL);
    return 0;
}
