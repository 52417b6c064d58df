/* A program with a thread gives up all system calls but a few: "strict" those that seccomp's strict mode does not name,
   "filter" those that a filter kills for; "tsc" is to be killed for a look at the counter. */
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
static int ends[2];

static void *work(void *unused) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static int give_up(const char *how) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    /* What libraries ask to find out what the kernel can do. */
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL);
    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_LOG, NULL);
    work(NULL);
    if (strcmp(how, "strict") == 0) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    if (strcmp(how, "tsc") == 0) return prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int count, char **arguments) {
    char byte = 0;
    pthread_t thread;
    (void)count;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    if (pipe(ends) != 0 || give_up(arguments[1]) != 0) return 1;
    for (int i = 0; i < 200000; i++) work(NULL);
    for (int i = 0; i < 1000; i++)
        if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1) return 2;
    if (write(1, "done\n", 5) != 5) return 3;
    if (strcmp(arguments[1], "filter") == 0) _exit(4);
    syscall(SYS_exit, 4);
}
