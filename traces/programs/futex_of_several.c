/* Waits for any of several futexes, as the kernel's `futex_waitv` offers: woken at the second, at the first, not at all. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

struct waiter {
    uint64_t value, futex;
    uint32_t flags, reserved;
};

enum { SIZE_32 = 2 };

static uint32_t words[2], came_back;

static long wait_for_any(struct timespec *until) {
    struct waiter waiters[2];
    for (int i = 0; i < 2; i++)
        waiters[i] = (struct waiter){.value = 0, .futex = (uintptr_t)&words[i], .flags = SIZE_32 | FUTEX_PRIVATE_FLAG};
    return syscall(SYS_futex_waitv, waiters, 2, 0, until, CLOCK_MONOTONIC);
}

static void *waiter(void *woken) {
    long *which = woken;
    which[0] = wait_for_any(NULL);
    __atomic_store_n(&came_back, 1, __ATOMIC_SEQ_CST);
    which[1] = wait_for_any(NULL);
    return NULL;
}

/* Wakes until somebody was woken: until then nobody waits yet. */
static void wake_one(uint32_t *at) {
    while (syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 0) usleep(1000);
}

int main(void) {
    long woken[2];
    pthread_t thread;
    pthread_create(&thread, NULL, waiter, woken);
    wake_one(&words[1]);
    /* Until it is back it waits at the other, too. */
    while (!__atomic_load_n(&came_back, __ATOMIC_SEQ_CST)) usleep(1000);
    wake_one(&words[0]);
    pthread_join(thread, NULL);
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 2000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    long late = wait_for_any(&until);
    int error = errno;
    words[1] = 1;
    long changed = wait_for_any(NULL);
    printf("%ld %ld %ld %d %ld %d\n", woken[0], woken[1], late, error == ETIMEDOUT, changed, errno == EAGAIN);
    return 0;
}
