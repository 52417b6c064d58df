/* A reduction that tasks take part in: the library looks at the data of such a region itself. */
#include <stdio.h>

int main(void) {
    long sum = 0;
#pragma omp parallel num_threads(3) reduction(task, + : sum)
    {
#pragma omp single
        for (int i = 0; i < 10; i++) {
#pragma omp task in_reduction(+ : sum)
            sum += i;
        }
        sum += 100;
    }
    printf("%ld\n", sum);
    return 0;
}
