/* A loop that is cancelled, and regions that are: their members leave barriers that not all have come to. */
#include <omp.h>
#include <stdio.h>

enum { ROUNDS = 20, LENGTH = 1000 };

int main(void) {
    int hits = 0;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel num_threads(4)
        {
#pragma omp for schedule(dynamic)
            for (int i = 0; i < LENGTH; i++) {
                if (i == 50) {
#pragma omp atomic
                    hits++;
#pragma omp cancel for
                }
            }
#pragma omp barrier
            if (omp_get_thread_num() == 2) {
#pragma omp cancel parallel
            }
#pragma omp barrier
        }
    }
    printf("%d\n", hits);
    return 0;
}
