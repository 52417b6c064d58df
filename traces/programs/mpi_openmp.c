// Ranks with threads: each works in OpenMP's parallel loops, and all add up what they got after each.
//
//   mpi_openmp ROUNDS STEPS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARTS = 16 };

static double part(long steps) {
    double sum = 0;
    for (long i = 0; i < steps; i++)
        sum += 1.0 / (double)(i + 1);
    return sum;
}

int main(int count, char **words) {
    long rounds = count > 1 ? atol(words[1]) : 10;
    long steps = count > 2 ? atol(words[2]) : 100000;
    int granted, rank;
    double mine = 0, all = 0;
    MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &granted);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (long round = 0; round < rounds; round++) {
#pragma omp parallel for reduction(+ : mine) schedule(static)
        for (int i = 0; i < PARTS; i++)
            mine += part(steps);
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%.3f\n", all);
    MPI_Finalize();
    return 0;
}
