/* Two threads that meet again and again, the first one looking until the other is there: it yields in between, or keeps its CPU where LOOKS is
 * defined; where PLACES is, too, a function looks for it at so many places. In turn, each works three times as long as the other: of four units of work, three lie one after the other. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#ifdef LOOKS
enum { ROUNDS = 300, UNIT = 300000 };
static void between_looks(void) { __builtin_ia32_pause(); }
#else
/* Long, beside what a look takes on a quick machine. */
enum { ROUNDS = 40, UNIT = 4800000 };
static void between_looks(void) { sched_yield(); }
#endif

#ifdef PLACES
#define IN_A_CALL __attribute__((noinline))
#else
#define IN_A_CALL
#define PLACES 1
#endif

static atomic_int arrived, round_numbers[PLACES];

/* Whether any place still tells of this round. */
static IN_A_CALL int is_round(int now) {
    for (int i = 0; i < PLACES; i++) {
        if (atomic_load(&round_numbers[i]) == now) return 1;
    }
    return 0;
}

static void meet(void) {
    int now = atomic_load(&round_numbers[PLACES - 1]);
    if (atomic_fetch_add(&arrived, 1) == 1) {
        atomic_store(&arrived, 0);
        for (int i = 0; i < PLACES; i++) atomic_fetch_add(&round_numbers[i], 1);
        return;
    }
    while (is_round(now)) between_looks();
}

static void *work(void *which) {
    for (int i = 0; i < ROUNDS; i++) {
        long steps = (i + (which != NULL)) % 2 ? 3 * UNIT : UNIT;
        for (volatile long step = 0; step < steps; step++) {
        }
        meet();
    }
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, &arrived);
    work(NULL);
    pthread_join(thread, NULL);
    printf("%d\n", atomic_load(&round_numbers[0]));
}
