// Two threads work, and the main thread takes what they made, waiting for a short time again and again.
//
//   timed_waits semaphore ITEMS N   by sem_timedwait; each item takes N steps of work
//   timed_waits queue ITEMS N       by mq_timedreceive
//   timed_waits poll ITEMS N        by poll on a pipe
//   timed_waits condition ITEMS N   by pthread_cond_timedwait
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAKERS = 2, MILLISECONDS = 2 };

static const char *how;
static long items, amount;
static sem_t made;
static mqd_t queue;
static int files[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t come = PTHREAD_COND_INITIALIZER;
static long waiting;
static long looks;

static void must(int ok) {
    if (!ok)
        abort();
}

static int by(const char *name) {
    return strcmp(how, name) == 0;
}

static struct timespec soon(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += MILLISECONDS * 1000000L;
    if (time.tv_nsec >= 1000000000L) {
        time.tv_nsec -= 1000000000L;
        time.tv_sec++;
    }
    return time;
}

static void *make(void *nothing) {
    char byte = 1;
    for (long item = 0; item < items; item++) {
        for (volatile long i = 0; i < amount; i++) {
        }
        if (by("semaphore")) {
            must(sem_post(&made) == 0);
        } else if (by("queue")) {
            must(mq_send(queue, &byte, 1, 0) == 0);
        } else if (by("poll")) {
            must(write(files[1], &byte, 1) == 1);
        } else {
            pthread_mutex_lock(&mutex);
            waiting++;
            pthread_cond_signal(&come);
            pthread_mutex_unlock(&mutex);
        }
    }
    return nothing;
}

// Returns whether an item came before the time ran out.
static int take(void) {
    struct timespec until = soon();
    struct pollfd file = {files[0], POLLIN, 0};
    char byte;
    if (by("semaphore"))
        return sem_timedwait(&made, &until) == 0;
    if (by("queue"))
        return mq_timedreceive(queue, &byte, 1, 0, &until) == 1;
    if (by("poll"))
        return poll(&file, 1, MILLISECONDS) == 1 && read(files[0], &byte, 1) == 1;
    pthread_mutex_lock(&mutex);
    while (waiting == 0) {
        if (pthread_cond_timedwait(&come, &mutex, &until) != 0)
            break;
    }
    int taken = waiting > 0;
    waiting -= taken;
    pthread_mutex_unlock(&mutex);
    return taken;
}

int main(int count, char **words) {
    must(count == 4);
    how = words[1];
    items = atol(words[2]);
    amount = atol(words[3]);
    must(sem_init(&made, 0, 0) == 0 && pipe(files) == 0);
    if (by("queue")) {
        char name[32];
        struct mq_attr one = {.mq_maxmsg = 8, .mq_msgsize = 1};
        snprintf(name, sizeof name, "/timed-waits-%d", getpid());
        queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &one);
        must(queue >= 0 && mq_unlink(name) == 0);
    }
    pthread_t makers[MAKERS];
    for (int i = 0; i < MAKERS; i++)
        must(pthread_create(&makers[i], 0, make, 0) == 0);
    for (long taken = 0; taken < MAKERS * items; taken += take())
        looks++;
    for (int i = 0; i < MAKERS; i++)
        must(pthread_join(makers[i], 0) == 0);
    must(looks >= MAKERS * items);
    return 0;
}
