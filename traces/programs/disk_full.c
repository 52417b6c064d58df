/* A disk that fills up while the program is recorded must not harm it. A filter of system calls stands in for the
 * disk: beyond some offset in a file, what the recorder asks for space with says that there is none. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Several, since what is done with a few again and again takes no space. */
enum { MUTEXES = 16 };
static pthread_mutex_t mutexes[MUTEXES];

static void *work(void *unused) { return unused; }

static int fill_disk(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwritev, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 200000, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSPC),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv) {
    pthread_t thread;
    if (argc == 1) {
        if (fill_disk()) return 2;
        execl("/proc/self/exe", argv[0], "full", NULL);
        return 3;
    }
    for (int i = 0; i < 20000; i++) {
        pthread_mutex_lock(&mutexes[i % MUTEXES]);
        pthread_mutex_unlock(&mutexes[i % MUTEXES]);
    }
    printf("%d", pthread_create(&thread, NULL, work, NULL));
    printf(" %d\n", pthread_join(thread, NULL));
    return 0;
}
