/* A lock whose waiters yield a few times before they wait by a futex, as libraries do; and a wait by yielding alone. */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 10 };
static atomic_uint turn, answer, yields;

static void wait_for(unsigned value) {
    for (;;) {
        for (int i = 0; i < 10; i++) {
            if (atomic_load(&turn) == value) return;
            sched_yield();
        }
        syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, value - 1, NULL, NULL, 0);
    }
}

static void pass_on(void) {
    for (volatile int i = 0; i < 2000000; i++) {
    }
    atomic_fetch_add(&turn, 1);
    syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *other(void *unused) {
    for (unsigned i = 0; i < ROUNDS; i++) {
        wait_for(2 * i + 1);
        pass_on();
    }
    while (atomic_load(&answer) == 0) {
        sched_yield();
        atomic_fetch_add(&yields, 1);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    for (unsigned i = 0; i < ROUNDS; i++) {
        pass_on();
        wait_for(2 * i + 2);
    }
    while (atomic_load(&yields) < 200) usleep(1000);
    atomic_store(&answer, 1);
    pthread_join(thread, NULL);
    printf("%u\n", atomic_load(&turn));
}
