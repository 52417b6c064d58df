// shares_work WAY THREADS TASKS: threads share work, each of TASKS tasks of 1 to 4 ms, in one of these ways (`ways` below).
//
// With -DWAITS a task waits for ten times as long in place of working, and the program prints how much of that went on at a time. That is how many times as
// fast the other is with a CPU for each thread, where nothing but tasks takes time: a machine with two CPUs can tell.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64, ROOM = 8 };

static int threads, tasks;
static atomic_long all_work; // In microseconds.

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

// Takes so many microseconds, more or less: how much that is depends on the number of the task only.
static void work(int task, long micros) {
    micros = micros * (50 + (task * 2654435761u >> 16) % 100) / 100;
    atomic_fetch_add(&all_work, micros);
#ifdef WAITS
    // It takes some 50 us to wake up.
    struct timespec time = {0, (micros * 10 - 50) * 1000};
    prctl(PR_SET_TIMERSLACK, 1);
    nanosleep(&time, NULL);
#else
    double x = task;
    for (long round = 0; round < micros * 400; round++)
        x = x * 0.999 + 1;
    volatile double kept = x;
    (void)kept;
#endif
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;

// All take the next number.
static int next;

static void *by_index(void *self) {
    for (;;) {
        pthread_mutex_lock(&mutex);
        int task = next < tasks * threads ? next++ : -1;
        pthread_mutex_unlock(&mutex);
        if (task < 0)
            return self;
        work(task, 2400);
    }
}

// The first thread puts tasks into a queue with room for few, and the others take them.
static int queue[ROOM], first, count, closed;

static void *by_queue(void *self) {
    if (self == 0) {
        for (int task = 0; task < tasks * (threads - 1); task++) {
            pthread_mutex_lock(&mutex);
            while (count == ROOM)
                pthread_cond_wait(&emptied, &mutex);
            queue[(first + count++) % ROOM] = task;
            pthread_cond_signal(&changed);
            pthread_mutex_unlock(&mutex);
        }
        pthread_mutex_lock(&mutex);
        closed = 1;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
        return self;
    }
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (count == 0 && !closed)
            pthread_cond_wait(&changed, &mutex);
        int task = count > 0 ? queue[first] : -1;
        if (task >= 0)
            first = (first + 1) % ROOM, count--;
        pthread_cond_signal(&emptied);
        pthread_mutex_unlock(&mutex);
        if (task < 0)
            return self;
        work(task, 2400);
    }
}

// Each has tasks of its own, the first half of all, and takes those of others when it has none left.
static struct {
    pthread_mutex_t mutex;
    int from, to;
} own[MOST];

static int take(int whose) {
    int task = own[whose].from < own[whose].to ? own[whose].from++ : -1;
    pthread_mutex_unlock(&own[whose].mutex);
    return task;
}

static void *by_stealing(void *self) {
    int me = (long)self;
    for (;;) {
        pthread_mutex_lock(&own[me].mutex);
        int task = take(me);
        for (int other = 1; task < 0 && other < threads; other++) {
            pthread_mutex_lock(&own[(me + other) % threads].mutex);
            task = take((me + other) % threads);
        }
        if (task < 0)
            return self;
        work(task, 2400);
    }
}

// Whoever takes a range puts its second half back for others, until it is small.
static struct {
    int from, to;
} ranges[100000];
static int ranges_left = 1, busy;

static void *by_splitting(void *self) {
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (ranges_left == 0 && busy > 0)
            pthread_cond_wait(&changed, &mutex);
        if (ranges_left == 0) {
            pthread_cond_broadcast(&changed);
            pthread_mutex_unlock(&mutex);
            return self;
        }
        int from = ranges[--ranges_left].from, to = ranges[ranges_left].to;
        busy++;
        pthread_mutex_unlock(&mutex);
        for (; to - from > 1; to = (from + to) / 2) {
            pthread_mutex_lock(&mutex);
            ranges[ranges_left].from = (from + to) / 2;
            ranges[ranges_left++].to = to;
            pthread_cond_signal(&changed);
            pthread_mutex_unlock(&mutex);
        }
        work(from, 2400);
        pthread_mutex_lock(&mutex);
        if (--busy == 0 && ranges_left == 0)
            pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
    }
}

// All meet after each task.
static int came, round_;

static void *by_barrier(void *self) {
    for (int task = 0; task < tasks; task++) {
        work(task * threads + (long)self, 2400);
        pthread_mutex_lock(&mutex);
        int mine = round_;
        if (++came == threads) {
            came = 0;
            round_++;
            pthread_cond_broadcast(&changed);
        } else {
            while (mine == round_)
                pthread_cond_wait(&changed, &mutex);
        }
        pthread_mutex_unlock(&mutex);
    }
    return self;
}

// Each does its part of what the one before it hands over, with room for few between them.
static sem_t filled[MOST], room[MOST];

static void *by_pipeline(void *self) {
    int me = (long)self;
    for (int task = 0; task < tasks; task++) {
        if (me > 0)
            sem_wait(&filled[me]);
        work(task * 7 + me, 2400);
        if (me > 0)
            sem_post(&room[me]);
        if (me < threads - 1) {
            sem_wait(&room[me + 1]);
            sem_post(&filled[me + 1]);
        }
    }
    return self;
}

// Most only read, together; one task of twenty is to write.
static pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER;

static void *by_readers(void *self) {
    for (int task = 0; task < tasks; task++) {
        int number = task * threads + (long)self, writes = number % 20 == 0;
        if (writes)
            pthread_rwlock_wrlock(&readers);
        else
            pthread_rwlock_rdlock(&readers);
        work(number, writes ? 240 : 2400);
        pthread_rwlock_unlock(&readers);
    }
    return self;
}

// A twentieth of the work is done under one lock.
static void *by_lock(void *self) {
    for (int task = 0; task < tasks; task++) {
        work(task * threads + (long)self, 2400);
        pthread_mutex_lock(&mutex);
        work(task, 120);
        pthread_mutex_unlock(&mutex);
    }
    return self;
}

// The first hands tasks out to whoever is ready, through sockets.
static int sockets[MOST][2];

static void *by_poll(void *self) {
    int me = (long)self, task;
    if (me > 0) {
        while (read(sockets[me][1], &task, sizeof task) == sizeof task && task >= 0) {
            work(task, 2400);
            if (write(sockets[me][1], &task, sizeof task) < 0)
                exit(1);
        }
        return self;
    }
    struct pollfd files[MOST];
    int last = tasks * (threads - 1), left = last;
    for (int other = 1; other < threads; other++) {
        files[other] = (struct pollfd){sockets[other][0], POLLIN, 0};
        if (write(sockets[other][0], &next, sizeof next) < 0)
            exit(1);
        next++;
    }
    while (left > 0) {
        poll(files + 1, threads - 1, -1);
        for (int other = 1; other < threads; other++) {
            if (!(files[other].revents & POLLIN))
                continue;
            int done, given = next < last ? next++ : -1;
            if (read(sockets[other][0], &done, sizeof done) < 0 || write(sockets[other][0], &given, sizeof given) < 0)
                exit(1);
            left--;
            if (given < 0)
                files[other].fd = -1;
        }
    }
    return self;
}

// The first thread makes tasks, and the others look whether there is one, and sleep for a while where there is none.
static atomic_int made, is_over;

static void nap(long micros) {
#ifdef WAITS
    micros *= 10;
#endif
    usleep(micros);
}

static void *by_naps(void *self) {
    if (self == 0) {
        for (int task = 0; task < tasks * (threads - 1); task++) {
            work(task + 100000, 2400 / (threads - 1));
            made++;
        }
        is_over = 1;
        return self;
    }
    for (;;) {
        int over = is_over, task = made;
        while (task > 0 && !atomic_compare_exchange_weak(&made, &task, task - 1))
            ;
        if (task > 0)
            work(task * threads + (long)self, 2400);
        else if (over)
            return self;
        else
            nap(100);
    }
}

// All meet after each task, and give the CPU up until the last one is there.
static atomic_int arrived, meeting;

static void *by_yielding(void *self) {
    for (int task = 0; task < tasks; task++) {
        work(task * threads + (long)self, 2400);
        int now = meeting;
        if (++arrived == threads) {
            arrived = 0;
            meeting++;
        }
        while (meeting == now)
            sched_yield();
    }
    return self;
}

// The first puts batches of tasks there and waits until all of one are done: it does some itself as long as there are any, or gets each result in turn.
enum { BATCHES = MOST * 3 };

static struct {
    int is_done;
    pthread_cond_t done;
} results[BATCHES];
static int there, taken, undone;

static int take_one(void) {
    there--;
    return taken++;
}

static void done(int task) {
    pthread_mutex_lock(&mutex);
    results[task % BATCHES].is_done = 1;
    pthread_cond_signal(&results[task % BATCHES].done);
    if (--undone == 0)
        pthread_cond_signal(&emptied);
    pthread_mutex_unlock(&mutex);
}

static void *done_in_batches(void *self) {
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (there == 0 && !is_over)
            pthread_cond_wait(&changed, &mutex);
        int task = there > 0 ? take_one() : -1;
        pthread_mutex_unlock(&mutex);
        if (task < 0)
            return self;
        work(task, 2400);
        done(task);
    }
}

static int put(int from, int all) {
    int until = from + 5 * (threads - 1) / 2;
    until = until < all ? until : all;
    for (int task = from; task < until; task++) {
        pthread_mutex_lock(&mutex);
        results[task % BATCHES].is_done = 0;
        there++;
        undone++;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
    }
    return until;
}

static void *no_more_batches(void) {
    pthread_mutex_lock(&mutex);
    is_over = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void *by_helping(void *self) {
    if (self != 0)
        return done_in_batches(self);
    int all = tasks * (threads - 1);
    for (int begin = 0, end; begin < all; begin = end) {
        end = put(begin, all);
        pthread_mutex_lock(&mutex);
        while (undone > 0) {
            if (there == 0) {
                pthread_cond_wait(&emptied, &mutex);
                continue;
            }
            int task = take_one();
            pthread_mutex_unlock(&mutex);
            work(task, 2400);
            pthread_mutex_lock(&mutex);
            undone--;
        }
        pthread_mutex_unlock(&mutex);
        work(begin, 600);
    }
    return no_more_batches();
}

static void *by_results(void *self) {
    if (self != 0)
        return done_in_batches(self);
    int all = tasks * (threads - 1);
    for (int begin = 0, end; begin < all; begin = end) {
        end = put(begin, all);
        for (int task = begin; task < end; task++) {
            pthread_mutex_lock(&mutex);
            while (!results[task % BATCHES].is_done)
                pthread_cond_wait(&results[task % BATCHES].done, &mutex);
            pthread_mutex_unlock(&mutex);
        }
        work(begin, 600);
    }
    return no_more_batches();
}

static const struct {
    const char *name;
    void *(*run)(void *);
} ways[] = {
    {"index", by_index},       {"queue", by_queue},       {"stealing", by_stealing}, {"splitting", by_splitting}, {"barrier", by_barrier},
    {"pipeline", by_pipeline}, {"readers", by_readers}, {"lock", by_lock},         {"poll", by_poll},           {"naps", by_naps},
    {"yielding", by_yielding}, {"helping", by_helping},   {"results", by_results},
};

int main(int argc, char **argv) {
    threads = argc > 3 ? atoi(argv[2]) : 0;
    tasks = argc > 3 ? atoi(argv[3]) : 0;
    if (threads < 2 || threads > MOST || tasks < 1)
        return 2;
    int all = tasks * threads;
    ranges[0].to = all;
    for (int thread = 0; thread < threads; thread++) {
        pthread_mutex_init(&own[thread].mutex, NULL);
        // The first one has half of all.
        own[thread].from = thread == 0 ? 0 : all / 2 + all / 2 * (thread - 1) / (threads - 1);
        own[thread].to = thread == 0 ? all / 2 : all / 2 + all / 2 * thread / (threads - 1);
        sem_init(&filled[thread], 0, 0);
        sem_init(&room[thread], 0, 4);
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets[thread]) != 0)
            return 1;
    }
    for (int result = 0; result < BATCHES; result++)
        pthread_cond_init(&results[result].done, NULL);
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        if (strcmp(argv[1], ways[way].name) != 0)
            continue;
        long began = now();
        pthread_t ids[MOST];
        for (long thread = 1; thread < threads; thread++)
            pthread_create(&ids[thread], NULL, ways[way].run, (void *)thread);
        ways[way].run(0);
        for (int thread = 1; thread < threads; thread++)
            pthread_join(ids[thread], NULL);
#ifdef WAITS
        printf("%.3f\n", all_work * 10.0 / (now() - began));
#else
        (void)began;
#endif
        return 0;
    }
    return 2;
}
