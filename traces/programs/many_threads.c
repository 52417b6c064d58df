/* Very many threads, one after the other: nothing of a thread may remain mapped when it has ended. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static int journal_mappings(void) {
    char line[4096];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) count += strstr(line, ".ftj") != NULL;
    fclose(maps);
    return count;
}

int main(void) {
    pthread_t thread;
    for (int i = 0; i < 2000; i++) {
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
    }
    puts(journal_mappings() < 10 ? "few" : "many");
    return 0;
}
