// Maps memory, touches it and gives it back, again and again: alone, or while another thread waits.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *waits(void *nothing) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return nothing;
}

int main(int count, char **words) {
    int with_another = count > 1;
    (void)words;
    pthread_t thread;
    pthread_mutex_lock(&lock);
    if (with_another && pthread_create(&thread, NULL, waits, NULL) != 0)
        return 1;
    for (int round = 0; round < 2000; round++) {
        char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
            return 1;
        page[0] = 1;
        if (mprotect(page, 4096, PROT_READ) != 0 || munmap(page, 4096) != 0)
            return 1;
    }
    pthread_mutex_unlock(&lock);
    if (with_another)
        pthread_join(thread, NULL);
    puts("given back");
    return 0;
}
