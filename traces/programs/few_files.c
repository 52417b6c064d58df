/* Processes that may have few files open, and close all they have: what they open then has the numbers that it would have, and what
 * they write to the standard streams goes nowhere else. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Several, since what is done with a few again and again takes no space. */
enum { KEPT = 3, MUTEXES = 16, LOCKS = 20000 };
static pthread_mutex_t mutexes[MUTEXES];

static void *work(void *unused) {
    for (int i = 0; i < LOCKS; i++) {
        pthread_mutex_lock(&mutexes[i % MUTEXES]);
        /* There is nothing to write to. */
        if (write(1, "data", 4) != -1 || errno != EBADF) abort();
        pthread_mutex_unlock(&mutexes[i % MUTEXES]);
    }
    return unused;
}

static void work_twice(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    pthread_join(thread, NULL);
}

/* Opens files until there may be no more, and says how many there were. */
static void open_all(const char *who, int limit) {
    int opened = 0, fd;
    while ((fd = open("/dev/null", O_WRONLY)) >= 0) opened += 1 + 100 * fd;
    dprintf(KEPT, "%s of %d: %d\n", who, limit, opened);
}

static void live_with(int limit) {
    struct rlimit files = {limit, limit};
    for (int fd = 0; fd < 2000; fd++)
        if (fd != KEPT) close(fd);
    setrlimit(RLIMIT_NOFILE, &files);
    work_twice();
    pid_t child = fork();
    if (child == 0) {
        work_twice();
        open_all("child", limit);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    open_all("parent", limit);
}

int main(void) {
    static const int limits[] = {3, 4, 5, 8, 9, 16};
    if (dup2(1, KEPT) != KEPT) return 1;
    for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (fork() == 0) {
            live_with(limits[i]);
            _exit(0);
        }
        wait(NULL);
    }
    return 0;
}
