/* exec keeps the process's number: the second program must not spoil the first one's journal. With an argument another thread calls it. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void work(long times) {
    volatile long sum = 0;
    pthread_mutex_lock(&mutex);
    for (long i = 0; i < times; i++) sum += i;
    pthread_mutex_unlock(&mutex);
}

static void *become_another(void *name) {
    work(160000000);
    execl("/proc/self/exe", name, "again", (char *)NULL);
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t thread;
    work(20000000);
    if (count == 1) execl("/proc/self/exe", arguments[0], "again", (char *)NULL);
    if (strcmp(arguments[1], "thread") == 0) {
        pthread_create(&thread, NULL, become_another, arguments[0]);
        pthread_join(thread, NULL);
    }
    puts(arguments[1]);
    return 4;
}
