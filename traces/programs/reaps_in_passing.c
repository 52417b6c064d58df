/* Threads start processes, and one takes note of their ends: the handler of SIGCHLD lets it go on, and it looks which have ended under the lock with which they
 * are started. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STARTERS = 3, EACH = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t told, ended[STARTERS];
static pid_t running[STARTERS];
static int ends;

static void handle(int signal) {
    int before = errno;
    (void)signal;
    sem_post(&told);
    errno = before;
}

static void take(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0) {
    }
}

static long used(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

static void work(long microseconds) {
    long end = used() + microseconds;
    while (used() < end) {
    }
}

static void *reap(void *unused) {
    while (ends < STARTERS * EACH) {
        take(&told);
        pthread_mutex_lock(&lock);
        for (int starter = 0; starter < STARTERS; starter++) {
            if (running[starter] && waitpid(running[starter], NULL, WNOHANG) > 0) {
                running[starter] = 0;
                ends++;
                sem_post(&ended[starter]);
            }
        }
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *start(void *place) {
    int starter = (int)(long)place;
    for (int one = 0; one < EACH; one++) {
        pthread_mutex_lock(&lock);
        pid_t pid = fork();
        if (pid == 0) {
            work(1000 + (starter * 5 + one * 3) % 7 * 1000);
            _exit(0);
        }
        running[starter] = pid;
        pthread_mutex_unlock(&lock);
        take(&ended[starter]);
    }
    return place;
}

int main(void) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    pthread_t reaper, starters[STARTERS];
    sem_init(&told, 0, 0);
    for (int starter = 0; starter < STARTERS; starter++) sem_init(&ended[starter], 0, 0);
    sigaction(SIGCHLD, &action, NULL);
    pthread_create(&reaper, NULL, reap, NULL);
    for (long starter = 0; starter < STARTERS; starter++)
        pthread_create(&starters[starter], NULL, start, (void *)starter);
    for (int starter = 0; starter < STARTERS; starter++) pthread_join(starters[starter], NULL);
    pthread_join(reaper, NULL);
    signal(SIGCHLD, SIG_DFL);
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    printf("%d ended, the last %s\n", ends, waitpid(pid, NULL, 0) == pid ? "was waited for" : "was not");
    return 0;
}
