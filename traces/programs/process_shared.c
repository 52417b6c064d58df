/* Processes that share mutexes, conditions, barriers, semaphores and futexes: in memory without a name that is theirs from a
   fork on, and in a file that another program maps at another address. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 3, ROUNDS = 20 };

struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    pthread_barrier_t barrier;
    sem_t done;
    uint32_t word;
    int turn, sum;
};

static struct shared *map(int flags, int file) {
    void *at = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, flags, file, 0);
    if (at == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return at;
}

static void begin(struct shared *all) {
    pthread_mutexattr_t mutex;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&all->mutex, &mutex);
    pthread_condattr_t cond;
    pthread_condattr_init(&cond);
    pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&all->cond, &cond);
    pthread_barrierattr_t barrier;
    pthread_barrierattr_init(&barrier);
    pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&all->barrier, &barrier, CHILDREN);
    sem_init(&all->done, 1, 0);
}

static void child(struct shared *all, int self) {
    pthread_barrier_wait(&all->barrier);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&all->mutex);
        while (all->turn != self) pthread_cond_wait(&all->cond, &all->mutex);
        all->sum += self;
        all->turn = (self + 1) % CHILDREN;
        pthread_cond_broadcast(&all->cond);
        pthread_mutex_unlock(&all->mutex);
    }
    sem_post(&all->done);
}

int main(int argc, char **argv) {
    if (argc == 2) {
        /* The other program: what is mapped before moves the file to another address. */
        map(MAP_SHARED | MAP_ANONYMOUS, -1);
        struct shared *all = map(MAP_SHARED, open(argv[1], O_RDWR));
        pthread_mutex_lock(&all->mutex);
        all->sum = 42;
        pthread_mutex_unlock(&all->mutex);
        /* Until somebody was woken: until then nobody waits yet. */
        while (syscall(SYS_futex, &all->word, FUTEX_WAKE, 1, NULL, NULL, 0) == 0) usleep(1000);
        sem_post(&all->done);
        return 0;
    }
    struct shared *all = map(MAP_SHARED | MAP_ANONYMOUS, -1);
    begin(all);
    for (int self = 0; self < CHILDREN; self++) {
        if (fork() == 0) {
            child(all, self);
            _exit(0);
        }
    }
    for (int i = 0; i < CHILDREN; i++) sem_wait(&all->done);
    while (wait(NULL) > 0) {}

    char path[] = "/tmp/process_shared_XXXXXX";
    int file = mkstemp(path);
    if (file < 0 || ftruncate(file, sizeof(struct shared)) != 0) return 1;
    struct shared *other = map(MAP_SHARED, file);
    begin(other);
    if (fork() == 0) {
        execl("/proc/self/exe", argv[0], path, (char *)NULL);
        _exit(1);
    }
    syscall(SYS_futex, &other->word, FUTEX_WAIT, 0, NULL, NULL, 0);
    sem_wait(&other->done);
    while (wait(NULL) > 0) {}
    pthread_mutex_lock(&other->mutex);
    printf("%d %d\n", all->sum, other->sum);
    pthread_mutex_unlock(&other->mutex);
    unlink(path);
    return 0;
}
