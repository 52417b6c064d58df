/* Loops parts of which are done in the loop's order. */
#include <stdio.h>

enum { LENGTH = 40 };

int main(void) {
    int next = 0, wrong = 0;
#pragma omp parallel for ordered schedule(static, 1) num_threads(4)
    for (int i = 0; i < LENGTH; i++) {
#pragma omp ordered
        wrong += next++ != i;
    }
#pragma omp parallel for ordered schedule(dynamic) num_threads(4)
    for (int i = 0; i < LENGTH; i++) {
#pragma omp ordered
        wrong += next++ != LENGTH + i;
    }
    printf("%d %d\n", next, wrong);
    return 0;
}
