/* A program gives up system calls that it does not make, and is killed for the next attempt, whoever makes it in its name: to open files
   and to make room in them, to let others run, to give memory back. With an argument it gives up what a program begins to be recorded
   with, and becomes another. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static volatile unsigned long shared;

static void *work(void *unused) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *takes_turns(void *unused) {
    pthread_barrier_wait(&barrier);
    /* Few calls, for which there is room, and long ones, so that each is for another's turn to come. */
    for (int i = 0; i < 50; i++) {
        pthread_spin_lock(&spin);
        for (int j = 0; j < 100000; j++) shared++;
        work(NULL);
        pthread_spin_unlock(&spin);
    }
    return unused;
}

static int give_up(const int *calls, int count) {
    struct sock_filter code[16] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    int length = 1;
    for (int i = 0; i < count; i++)
        code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], count - i, 0);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {length, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static int becomes_another(const char *name) {
    const int calls[] = {SYS_fallocate, SYS_pwritev, SYS_memfd_create};
    if (strcmp(name, "again") == 0) {
        work(NULL);
        puts("another");
        return 0;
    }
    if (give_up(calls, 3) != 0) return 1;
    execl("/proc/self/exe", "another", "again", (char *)NULL);
    return 1;
}

int main(int count, char **arguments) {
    const int calls[] = {SYS_openat, SYS_fallocate, SYS_pwritev, SYS_sched_yield, SYS_munmap};
    pthread_t thread;
    if (count > 1) return becomes_another(arguments[1]);
    /* The C library opens its unwinder's library when the first thread ends; it must be there before. */
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&thread, NULL, takes_turns, NULL);
    if (give_up(calls, 5) != 0) return 1;
    takes_turns(NULL);
    pthread_join(thread, NULL);
    for (int i = 0; i < 20000; i++) work(NULL);
    printf("%d", pthread_create(&thread, NULL, work, NULL));
    printf(" %d\n", pthread_join(thread, NULL));
    return 0;
}
