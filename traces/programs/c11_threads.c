/* C11's threads do not call the functions of POSIX by names that could be hooked. */
#include <stdio.h>
#include <threads.h>
#include <time.h>

static mtx_t mutex;
static cnd_t cond;
static once_flag flag = ONCE_FLAG_INIT;
static int ready, runs;

static void run(void) { runs++; }

static int work(void *number) {
    call_once(&flag, run);
    mtx_lock(&mutex);
    ready = 1;
    cnd_signal(&cond);
    mtx_unlock(&mutex);
    return *(int *)number;
}

int main(void) {
    thrd_t thread;
    int number = -5, result = 0;
    struct timespec past = {1, 0};
    mtx_init(&mutex, mtx_timed);
    cnd_init(&cond);
    mtx_lock(&mutex);
    printf("%d", mtx_trylock(&mutex) == thrd_busy);
    printf(" %d", thrd_create(&thread, work, &number));
    while (!ready) cnd_wait(&cond, &mutex);
    printf(" %d", cnd_timedwait(&cond, &mutex, &past) == thrd_timedout);
    printf(" %d", mtx_unlock(&mutex));
    printf(" %d", thrd_join(thread, &result));
    printf(" %d %d\n", result, runs);
    cnd_destroy(&cond);
    mtx_destroy(&mutex);
    return 0;
}
