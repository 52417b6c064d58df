// Processes that lock a file for two thirds of their work.
//
//   file_locks flock PROCESSES N   the whole file, by flock
//   file_locks fcntl PROCESSES N   a part of it, by fcntl; given up with all other parts
//   file_locks lockf PROCESSES N   a part of it, by lockf
//   file_locks close PROCESSES N   by flock; given up by closing the file
//   file_locks stream PROCESSES N  the same, opened and closed as a stream
//   file_locks try PROCESSES N     by flock; whoever does not get it sleeps and tries again
//   file_locks read PROCESSES N    locked for reading, which keeps nobody out
//   file_locks end PROCESSES N     by fcntl; given up by the process's end
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 6 };

static const char *how;
static char name[64];
static long amount;

static void must(int ok) {
    if (!ok) {
        perror("file_locks");
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

static void set(int fd, short type, off_t start, off_t bytes) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = bytes};
    must(fcntl(fd, F_SETLKW, &lock) == 0);
}

static void take(int fd) {
    if (by("fcntl") || by("end")) {
        set(fd, F_RDLCK, 10, 5);
        set(fd, F_WRLCK, 100, 1);
    } else if (by("lockf")) {
        must(lseek(fd, 7, SEEK_SET) == 7 && lockf(fd, F_LOCK, 3) == 0);
    } else if (by("try")) {
        while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
            must(errno == EWOULDBLOCK);
            usleep(200);
        }
    } else {
        must(flock(fd, by("read") ? LOCK_SH : LOCK_EX) == 0);
    }
}

static void give(int fd) {
    if (by("fcntl"))
        set(fd, F_UNLCK, 0, 0);
    else if (by("lockf"))
        must(lseek(fd, 10, SEEK_SET) == 10 && lockf(fd, F_ULOCK, -3) == 0);
    else
        must(flock(fd, LOCK_UN) == 0);
}

static void round_by_stream(void) {
    FILE *file = fopen(name, "r+");
    must(file != 0);
    take(fileno(file));
    work(2 * amount);
    must(fclose(file) == 0);
}

static void rounds(void) {
    int fd = open(name, O_RDWR);
    must(fd >= 0);
    for (int round = 0; round < ROUNDS; round++) {
        work(amount);
        if (by("stream")) {
            round_by_stream();
            continue;
        }
        take(fd);
        work(2 * amount);
        if (by("end") && round == 0)
            _exit(0);
        if (by("close")) {
            close(fd);
            must((fd = open(name, O_RDWR)) >= 0);
        } else {
            give(fd);
        }
    }
    close(fd);
}

int main(int count, char **arguments) {
    must(count == 4);
    how = arguments[1];
    int processes = atoi(arguments[2]), status;
    amount = atol(arguments[3]);
    snprintf(name, sizeof name, "file_locks.%d", (int)getpid());
    int fd = open(name, O_RDWR | O_CREAT, 0600);
    must(fd >= 0);
    for (int i = 0; i < processes; i++)
        if (fork() == 0) {
            rounds();
            _exit(0);
        }
    for (int i = 0; i < processes; i++)
        must(wait(&status) > 0 && status == 0);
    unlink(name);
    puts("done");
}
