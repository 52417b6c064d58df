/* exec keeps the process's number: the second program must not spoil the first one's journal. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int main(int count, char **arguments) {
    volatile long sum = 0;
    pthread_mutex_lock(&mutex);
    for (long i = 0; i < 20000000; i++) sum += i;
    pthread_mutex_unlock(&mutex);
    if (count == 1) execl("/proc/self/exe", arguments[0], "again", (char *)NULL);
    puts(arguments[1]);
    return 4;
}
