/* Threads that are bound to places: as many as CPUs that the program believes in. */
#include <omp.h>
#include <stdio.h>

static volatile unsigned long sink;

int main(void) {
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    {
        for (int i = 0; i < 30000000; i++)
            sink = i;
        threads++;
    }
    printf("%d threads, %d processors, %d places\n", threads, omp_get_num_procs(), omp_get_num_places());
    return 0;
}
