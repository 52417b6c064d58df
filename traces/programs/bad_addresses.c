/* The kernel answers EFAULT where it is lent memory that is not there, and so must the hooks: addresses that are none, memory that
   must not be read, and memory that ends within what is lent. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int bad;

static void fails(const char *what, long result) {
    if (result != -1 || errno != EFAULT) {
        printf("%s: %ld, errno %d\n", what, result, errno);
        bad = 1;
    }
    errno = 0;
}

static void try(char *at) {
    struct stat status;
    int stream = socket(AF_INET, SOCK_STREAM, 0), set = semget(IPC_PRIVATE, 1, 0600);
    int file = open("/proc/self/exe", O_RDONLY), directory = open("/", O_RDONLY | O_DIRECTORY);
    fails("connect", connect(stream, (struct sockaddr *)at, 16));
    fails("fcntl", fcntl(file, F_SETLK, at));
    fails("fcntl", fcntl(file, F_OFD_SETLKW, at));
    fails("semop", semop(set, (struct sembuf *)at, 2));
    fails("semtimedop", semtimedop(set, (struct sembuf *)at, 3, NULL));
    fails("open", open(at, O_RDONLY));
    fails("openat", openat(directory, at, O_RDONLY));
    fails("stat", stat(at, &status));
    fails("fstatat", fstatat(directory, at, &status, 0));
    fails("access", access(at, R_OK));
    fails("fopen", fopen(at, "r") == NULL ? -1 : 0);
    fails("sched_getaffinity", sched_getaffinity(0, 64, (cpu_set_t *)at));
    fails("sched_setaffinity", sched_setaffinity(0, 64, (cpu_set_t *)at));
    fails("prctl", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, at));
    fails("nanosleep", nanosleep((struct timespec *)at, NULL));
#ifdef SYS_futex_waitv
    fails("futex_waitv", syscall(SYS_futex_waitv, at, 2, 0, NULL, 0));
#endif
    semctl(set, 0, IPC_RMID);
    close(stream);
    close(file);
    close(directory);
}

static void *other(void *nothing) {
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    pthread_join(thread, NULL);
    long page = sysconf(_SC_PAGESIZE);
    char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(two, '/', page);
    mprotect(two + page, page, PROT_NONE);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    try((char *)8);
    try((char *)-8);
    try(two + page);
    try(two + page - 8);
    /* What ends where the page ends is there. */
    strcpy(two + page - 4, "/..");
    if (access(two + page - 4, R_OK) != 0) {
        perror("access");
        bad = 1;
    }
    puts(bad ? "bad" : "good");
}
