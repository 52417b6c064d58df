/* Loops whose chunks go to whoever asks, in every schedule that is a region of its own; and teams that may come out
 * smaller than asked for. */
#include <omp.h>
#include <stdio.h>

enum { LENGTH = 200 };

int main(void) {
    long sum = 0;
#pragma omp parallel for schedule(dynamic, 3)
    for (int i = 0; i < LENGTH; i++) {
#pragma omp atomic
        sum += i;
    }
#pragma omp parallel for schedule(monotonic : dynamic)
    for (int i = 0; i < LENGTH; i++) {
#pragma omp atomic
        sum += i;
    }
#pragma omp parallel for schedule(guided)
    for (int i = 0; i < LENGTH; i++) {
#pragma omp atomic
        sum += i;
    }
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < LENGTH; i++) {
#pragma omp atomic
        sum += i;
    }
#pragma omp parallel sections reduction(+ : sum)
    {
#pragma omp section
        sum += 1;
#pragma omp section
        sum += 2;
    }
    omp_set_dynamic(1);
#pragma omp parallel num_threads(4) reduction(+ : sum)
#pragma omp for
    for (int i = 0; i < LENGTH; i++) sum += i;
    printf("%ld\n", sum);
    return 0;
}
