/* Tasks that are done while the team waits at the end of the region; and others that are done at once, depend on each
 * other, are made of a loop, or are told to be over by somebody else. */
#include <omp.h>
#include <stdio.h>

enum { TASKS = 200, STEPS = 100000 };
static double results[TASKS];

static double work(int i) {
    double x = i;
    for (int k = 0; k < STEPS; k++) x = x * 0.5 + k;
    return x;
}

int main(void) {
    int count = 0;
    double sum = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int i = 0; i < TASKS; i++) {
#pragma omp task firstprivate(i)
        results[i] = work(i);
    }
    for (int i = 0; i < TASKS; i++) sum += results[i];
#pragma omp parallel num_threads(3)
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event) shared(count)
        {
#pragma omp atomic
            count++;
            omp_fulfill_event(event);
        }
        for (int i = 0; i < 10; i++) {
#ifdef __clang__ /* Its library sometimes aborts where a task that waits for others is done at once (LLVM issue 85963). */
#pragma omp task depend(inout : count) final(i > 7) shared(count)
#else
#pragma omp task depend(inout : count) if (i % 2) final(i > 7) shared(count)
#endif
#pragma omp atomic
            count++;
        }
#pragma omp taskwait
#pragma omp taskloop grainsize(3) shared(count)
        for (int i = 0; i < 10; i++) {
#pragma omp atomic
            count++;
        }
    }
    printf("%.3f %d\n", sum, count);
    return 0;
}
