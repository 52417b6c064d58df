/* A program that may not write large files must not be killed for what the recorder writes. */
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>

/* Several, since what is done with a few again and again takes no space. */
enum { MUTEXES = 16 };
static pthread_mutex_t mutexes[MUTEXES];

static void *work(void *unused) { return unused; }

int main(void) {
    struct rlimit limit = {200000, 200000};
    pthread_t thread;
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 20000; i++) {
        pthread_mutex_lock(&mutexes[i % MUTEXES]);
        pthread_mutex_unlock(&mutexes[i % MUTEXES]);
    }
    printf("%d", pthread_create(&thread, NULL, work, NULL));
    printf(" %d\n", pthread_join(thread, NULL));
    return 0;
}
