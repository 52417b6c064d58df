/* Tasks that are waited for within a region: one's own, all of a group, those that another depends on. */
#include <stdio.h>

enum { TASKS = 20 };

static long fibonacci(int n) {
    long one, two;
    if (n < 2) return n;
#pragma omp task shared(one) firstprivate(n)
    one = fibonacci(n - 1);
#pragma omp task shared(two) firstprivate(n)
    two = fibonacci(n - 2);
#pragma omp taskwait
    return one + two;
}

int main(void) {
    long result = 0, sum = 0, chain = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
        result = fibonacci(10);
#pragma omp taskgroup
        for (int i = 0; i < TASKS; i++) {
#pragma omp task firstprivate(i) shared(sum)
#pragma omp atomic
            sum += i;
        }
        for (int i = 0; i < TASKS; i++) {
#pragma omp task depend(inout : chain) firstprivate(i) shared(chain)
            chain = chain * 3 % 1000 + i;
        }
    }
    printf("%ld %ld %ld\n", result, sum, chain);
    return 0;
}
