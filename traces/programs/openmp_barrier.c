/* Barriers within one region: explicit, after a loop that hands out chunks, after sections, and where one thread copies
 * what it found to the others. */
#include <omp.h>
#include <stdio.h>

enum { THREADS = 4, PHASES = 3, LENGTH = 100 };

int main(void) {
    int last[THREADS] = {0}, wrong = 0, found, sum = 0, sections = 0;
#pragma omp parallel num_threads(THREADS) private(found) reduction(+ : wrong)
    {
        int self = omp_get_thread_num();
        for (int phase = 1; phase <= PHASES; phase++) {
            last[self] = phase;
#pragma omp barrier
            for (int i = 0; i < THREADS; i++) wrong += last[i] != phase;
#pragma omp barrier
        }
#pragma omp for schedule(dynamic)
        for (int i = 0; i < LENGTH; i++) {
#pragma omp atomic
            sum += i;
        }
#pragma omp sections
        {
#pragma omp section
#pragma omp atomic
            sections++;
#pragma omp section
#pragma omp atomic
            sections++;
        }
#pragma omp single copyprivate(found)
        found = 7;
        wrong += found != 7 || sections != 2;
    }
    printf("%d %d\n", sum, wrong);
    return 0;
}
