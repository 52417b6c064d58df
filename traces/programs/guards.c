// Work that threads or processes do one after the other, since something that the kernel keeps lets in one of them at a time.
//
//   guards counter N      two threads take a token of an eventfd, each by its own copy of a large number, and give it back
//   guards functions N    the same by the C library's functions, from two processes
//   guards pipe N         two threads read a byte from a pipe whose ends have large numbers, and write it back
//   guards messages N     two processes receive a message through a socket by recvmmsg, and send it back by sendmmsg
//   guards copies N       processes lock a file, close it, and give the lock up by closing a copy
//   guards children N     processes lock a file, close it, and leave giving it up to a child
//   guards undone N       processes take a token of a semaphore and end, which gives it back
//   guards killed N       the same with processes that are killed
//   guards robust N       threads lock a robust mutex and end
//   guards died N         the same with processes that are killed
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 2, ROUNDS = 8, LARGE = 1500 };

static const char *how;
static long amount;
static int ends[WORKERS], set;
static char name[64];
static pthread_mutex_t *mutex;

static void must(int ok) {
    if (!ok) {
        perror("guards");
        abort();
    }
}

static int by(const char *other) {
    return strcmp(how, other) == 0;
}

static void work(long times) {
    for (volatile long i = 0; i < times; i++) {
    }
}

static int move_up(int fd) {
    int large = fcntl(fd, F_DUPFD, LARGE);
    must(large >= LARGE && close(fd) == 0);
    return large;
}

static void move_message(int fd, int receives) {
    char bytes[4] = "abc";
    struct iovec part = {bytes, sizeof bytes};
    struct mmsghdr message = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
    must((receives ? recvmmsg(fd, &message, 1, 0, 0) : sendmmsg(fd, &message, 1, 0)) == 1);
    must(message.msg_len == sizeof bytes);
}

static void enter(int worker) {
    uint64_t count;
    char byte;
    if (by("counter"))
        must(read(ends[worker], &count, sizeof count) == sizeof count);
    else if (by("functions"))
        must(eventfd_read(ends[0], &count) == 0);
    else if (by("pipe"))
        must(read(ends[0], &byte, 1) == 1);
    else
        move_message(ends[0], 1);
}

static void leave(int worker) {
    uint64_t count = 1;
    char byte = 1;
    if (by("counter"))
        must(write(ends[worker], &count, sizeof count) == sizeof count);
    else if (by("functions"))
        must(eventfd_write(ends[0], 1) == 0);
    else if (by("pipe"))
        must(write(ends[1], &byte, 1) == 1);
    else
        move_message(ends[1], 0);
}

static void locked_by_copy(void) {
    int fd = open(name, O_RDWR), copy;
    must(fd >= 0 && flock(fd, LOCK_EX) == 0);
    must((copy = dup(fd)) >= 0 && close(fd) == 0);
    work(amount);
    must(close(copy) == 0);
}

static void locked_by_child(void) {
    int fd = open(name, O_RDWR);
    must(fd >= 0 && flock(fd, LOCK_EX) == 0);
    pid_t child = fork();
    if (child == 0) {
        work(amount);
        must(flock(fd, LOCK_UN) == 0);
        _exit(0);
    }
    must(close(fd) == 0 && waitpid(child, 0, 0) == child);
}

static void locked_until_end(void) {
    int result = pthread_mutex_lock(mutex);
    if (result == EOWNERDEAD)
        result = pthread_mutex_consistent(mutex);
    must(result == 0);
    work(ROUNDS * amount);
}

static void *rounds(void *number) {
    int worker = (int)(intptr_t)number;
    struct sembuf take = {0, -1, SEM_UNDO};
    if (by("undone") || by("killed")) {
        must(semop(set, &take, 1) == 0);
        work(ROUNDS * amount);
    } else if (by("robust") || by("died")) {
        locked_until_end();
    } else {
        for (int round = 0; round < ROUNDS; round++) {
            if (by("copies")) {
                locked_by_copy();
            } else if (by("children")) {
                locked_by_child();
            } else {
                enter(worker);
                work(amount);
                leave(worker);
            }
        }
    }
    if (by("killed") || by("died"))
        raise(SIGKILL);
    return 0;
}

static void begin(void) {
    struct rlimit files;
    must(getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max > LARGE + 16);
    files.rlim_cur = files.rlim_max;
    must(setrlimit(RLIMIT_NOFILE, &files) == 0);
    if (by("counter") || by("functions")) {
        ends[0] = move_up(eventfd(1, by("counter") ? EFD_SEMAPHORE : 0));
        ends[1] = dup(ends[0]);
    } else if (by("pipe")) {
        must(pipe(ends) == 0);
        ends[0] = move_up(ends[0]);
        ends[1] = move_up(ends[1]);
        leave(0);
    } else if (by("messages")) {
        must(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
        leave(0);
    } else if (by("copies") || by("children")) {
        snprintf(name, sizeof name, "guards.%d", (int)getpid());
        must(close(open(name, O_RDWR | O_CREAT, 0600)) == 0);
    } else if (by("undone") || by("killed")) {
        must((set = semget(IPC_PRIVATE, 1, 0600)) >= 0 && semctl(set, 0, SETVAL, 1) == 0);
    } else {
        pthread_mutexattr_t attributes;
        mutex = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        must(pthread_mutex_init(mutex, &attributes) == 0);
    }
}

int main(int count, char **arguments) {
    must(count == 3);
    how = arguments[1];
    amount = atol(arguments[2]);
    begin();
    if (by("counter") || by("pipe") || by("robust")) {
        pthread_t threads[WORKERS];
        for (intptr_t i = 0; i < WORKERS; i++)
            pthread_create(&threads[i], 0, rounds, (void *)i);
        for (int i = 0; i < WORKERS; i++)
            pthread_join(threads[i], 0);
    } else {
        for (intptr_t i = 0; i < WORKERS; i++)
            if (fork() == 0) {
                rounds((void *)i);
                _exit(0);
            }
        for (int i = 0; i < WORKERS; i++)
            must(wait(0) > 0);
    }
    if (by("undone") || by("killed"))
        semctl(set, 0, IPC_RMID);
    if (name[0])
        unlink(name);
    puts("done");
}
