/* Futexes by hand: every way to wait and to wake, and what comes of each. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint32_t word, other, lock;

static long futex(uint32_t *at, int op, uint32_t value, const void *timeout, uint32_t *second, uint32_t third) {
    return syscall(SYS_futex, at, op, value, timeout, second, third);
}

static long wait(uint32_t *at, uint32_t value) {
    return futex(at, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

/* Wakes until somebody was woken: until then nobody waits yet. */
static void wake_one(uint32_t *at) {
    while (futex(at, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 0) usleep(1000);
}

static void *waiter(void *unused) {
    wait(&word, 0);
    futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 4);
    wait(&word, 0);
    wait(&word, 0);
    return unused;
}

static void *owner(void *unused) {
    futex(&lock, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0);
    futex(&lock, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
    return unused;
}

int main(void) {
    struct timespec soon = {.tv_nsec = 2000000}, past = {.tv_sec = 1};
    errno = 0;
    printf("%ld", futex(&word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
    printf(" %d", errno);
    printf(" %ld", wait(&word, 1));
    printf(" %d", errno == EAGAIN);
    printf(" %ld", futex(&word, FUTEX_WAIT_PRIVATE, 0, &soon, NULL, 0));
    printf(" %d", errno == ETIMEDOUT);
    printf(" %ld", futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, &past, NULL, 1));
    printf(" %d", errno == ETIMEDOUT);
    printf(" %ld", wait((uint32_t *)1, 0));
    printf(" %d\n", errno == EINVAL);
    errno = 7;

    pthread_t thread;
    pthread_create(&thread, NULL, waiter, NULL);
    wake_one(&word);
    while (futex(&word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, 4) == 0) usleep(1000);
    while (futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 0, (void *)1, &other, 0) == 0) usleep(1000);
    wake_one(&other);
    /* Nobody waits at `other`: the one who is woken waits at `word`. */
    int never = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0);
    while (futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1, &other, never) == 0) usleep(1000);
    pthread_join(thread, NULL);
    printf("%d\n", errno);

    futex(&lock, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0);
    pthread_create(&thread, NULL, owner, NULL);
    while (!(__atomic_load_n(&lock, __ATOMIC_SEQ_CST) & FUTEX_WAITERS)) usleep(1000);
    futex(&lock, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
    pthread_join(thread, NULL);
    /* What is no futex goes through untouched. */
    printf("%d\n", syscall(SYS_getpid) == getpid());
}
