/* A thread records very much while one of its own calls is not over: in signal handlers while it is blocked, and in what it has done
 * around a fork. What came of the call is known only then. */
#define _GNU_SOURCE
#include <errno.h>
#include <mqueue.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BURST = 40000, FULL = 65536, MORE = 4096, BRIEF = 100000000 };
static sem_t tokens;
static int ends[2];
static pthread_t first;

static void burst(void) {
    for (int i = 0; i < BURST; i++) {
        sem_post(&tokens);
        sem_trywait(&tokens);
    }
}

static void handle(int unused) {
    (void)unused;
    burst();
}

static void pause_briefly(void) {
    struct timespec time = {0, BRIEF};
    nanosleep(&time, NULL);
}

static struct timespec soon(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_sec += 1;
    return time;
}

/* Interrupts the first thread twice, and reads what it writes if there is anything. */
static void *interrupt(void *reads) {
    static char bytes[FULL];
    for (int i = 0; i < 2; i++) {
        pause_briefly();
        pthread_kill(first, SIGUSR1);
    }
    pause_briefly();
    for (long left = reads ? FULL + MORE : 0; left > 0;) left -= read(ends[0], bytes, sizeof bytes);
    return NULL;
}

static pthread_t begin(void *reads) {
    pthread_t thread;
    pthread_create(&thread, NULL, interrupt, reads);
    return thread;
}

static void write_to_pipe(void) {
    static char bytes[FULL];
    pipe(ends);
    pthread_t thread = begin(ends);
    long filled = write(ends[1], bytes, FULL), written = write(ends[1], bytes, MORE);
    pthread_join(thread, NULL);
    printf("wrote %ld %ld\n", filled, written);
}

static void send_to_queue(void) {
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
    char name[32];
    snprintf(name, sizeof name, "/foretrace-%d", getpid());
    mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
    mq_unlink(name);
    mq_send(queue, "a", 1, 0);
    pthread_t thread = begin(NULL);
    struct timespec until = soon(CLOCK_REALTIME);
    int result = mq_timedsend(queue, "b", 1, 0, &until);
    printf("sent %d %s\n", result, strerror(errno));
    pthread_join(thread, NULL);
}

static void wait_for_several(void) {
    struct {
        unsigned long value, address;
        unsigned flags, reserved;
    } one = {0, 0, 2 | 128, 0};
    static unsigned word;
    one.address = (unsigned long)&word;
    pthread_t thread = begin(NULL);
    struct timespec until = soon(CLOCK_MONOTONIC);
    syscall(SYS_futex_waitv, &one, 1, 0, &until, CLOCK_MONOTONIC);
    pthread_join(thread, NULL);
}

static void fork_with_handlers(void) {
    int status;
    pthread_atfork(burst, burst, NULL);
    pid_t child = fork();
    if (child == 0) _exit(3);
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
}

int main(void) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sem_init(&tokens, 0, 0);
    first = pthread_self();
    sigaction(SIGUSR1, &action, NULL);
    write_to_pipe();
    send_to_queue();
    wait_for_several();
    fork_with_handlers();
    return 0;
}
