/* Locks, one that its owner takes twice, and a try that fails. */
#include <omp.h>
#include <stdio.h>

enum { ROUNDS = 50 };

int main(void) {
    omp_lock_t lock;
    omp_nest_lock_t nest;
    long under_lock = 0, nested = 0, failed = 0;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(4)
    for (int i = 0; i < ROUNDS; i++) {
        omp_set_lock(&lock);
        under_lock++;
        if (!omp_test_lock(&lock)) failed++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest);
        if (omp_test_nest_lock(&nest) == 2) nested++;
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
    }
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
    printf("%ld %ld %ld\n", under_lock, nested, failed);
    return 0;
}
