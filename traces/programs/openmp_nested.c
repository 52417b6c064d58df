/* Regions within regions: first with teams of one, then with real teams, all of whose masters begin two in a row. */
#include <omp.h>
#include <stdio.h>

int main(void) {
    long sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
#pragma omp parallel num_threads(3) reduction(+ : sum)
        {
#pragma omp barrier
            sum += omp_get_num_threads();
        }
#pragma omp barrier
    }
    omp_set_max_active_levels(2);
    for (int i = 0; i < 3; i++) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
        for (int j = 0; j < 2; j++) {
            long inner = 0;
#pragma omp parallel num_threads(2) reduction(+ : inner)
            {
#pragma omp barrier
                inner += omp_get_num_threads();
            }
            sum += inner;
        }
    }
    printf("%ld\n", sum);
    return 0;
}
