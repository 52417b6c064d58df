/* A loop that runs on several threads, but one iteration after the other, since each waits for the one before; in two regions. */
#include <stdio.h>

enum { LENGTH = 64 };

static unsigned long state = 1;

static void work(void) {
    for (int i = 0; i < 200000; i++) state = state * 6364136223846793005UL + 1442695040888963407UL;
}

int main(void) {
    for (int region = 0; region < 2; region++) {
#pragma omp parallel for ordered(1) schedule(static, 1) num_threads(4)
        for (int i = 0; i < LENGTH; i++) {
#pragma omp ordered depend(sink : i - 1)
            work();
#pragma omp ordered depend(source)
        }
    }
    printf("%lu\n", state);
    return 0;
}
