/* Ranks that put numbers into each other's windows and get them from there, with a fence after each. In every other step one half of them works three
 * times as long as the other, so that all would be faster without fences. Arguments: steps, microseconds of work of a step, numbers. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static volatile double sink;

static void work(double microseconds)
{
    double value = 1;
    for (long step = 0; step < (long)(microseconds * 300); step++)
        value = value * 1.0000001 + 1e-9;
    sink = value;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, steps = argc > 1 ? atoi(argv[1]) : 100, numbers = argc > 3 ? atoi(argv[3]) : 100;
    double amount = argc > 2 ? atof(argv[2]) : 100;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    MPI_Comm twin;
    MPI_Win window;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int *memory = calloc(numbers, sizeof *memory), *mine = calloc(numbers, sizeof *mine);
    int *got = calloc(numbers, sizeof *got);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Win_create(memory, numbers * sizeof *memory, sizeof *memory, MPI_INFO_NULL, twin, &window);
    MPI_Comm_free(&twin); /* The window stays. */
    MPI_Win_fence(0, window);
    int wrong = 0;
    for (int step = 0; step < steps; step++) {
        work((step + rank) % 2 ? amount : 3 * amount);
        mine[0] = step * size + rank;
        MPI_Put(mine, numbers, MPI_INT, right, 0, numbers, MPI_INT, window);
        MPI_Win_fence(0, window);
        wrong += memory[0] != step * size + left;
        MPI_Get(got, numbers, MPI_INT, right, 0, numbers, MPI_INT, window);
        MPI_Win_fence(0, window);
        wrong += got[0] != step * size + rank;
    }
    MPI_Win_free(&window);
    int all = 0;
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf(all ? "%d wrong\n" : "fine\n", all);
    MPI_Finalize();
    return 0;
}
