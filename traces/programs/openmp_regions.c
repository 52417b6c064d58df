/* Teams come and go between serial parts; with the if clause there is none. */
#include <omp.h>
#include <stdio.h>

enum { LENGTH = 400, REGIONS = 5 };
static long values[LENGTH];

int main(void) {
    long sum = 0;
    for (int region = 0; region < REGIONS; region++) {
#pragma omp parallel for schedule(static) reduction(+ : sum)
        for (int i = 0; i < LENGTH; i++) {
            values[i] += i * region;
            sum += values[i];
        }
    }
#pragma omp parallel num_threads(2)
    {
#pragma omp atomic
        sum += omp_get_num_threads();
    }
#pragma omp parallel if (sum == 0)
    sum += omp_get_num_threads();
    printf("%ld\n", sum);
    return 0;
}
