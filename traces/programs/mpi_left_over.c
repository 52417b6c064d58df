// Ranks that end while they still could receive a message that nobody sends, and after one that nobody receives: both are what
// masters and slaves do that stop when they have what they wanted.
#include <mpi.h>
#include <stdio.h>

int main(int count, char **words) {
    int rank, ranks, mine = 7, never = 0, got = 0;
    MPI_Request open;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    MPI_Irecv(&never, 1, MPI_INT, before, 1, MPI_COMM_WORLD, &open);
    MPI_Sendrecv(&mine, 1, MPI_INT, next, 2, &got, 1, MPI_INT, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0)
        MPI_Send(&mine, 1, MPI_INT, next, 3, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("got %d\n", got + never);
    MPI_Finalize();
    return 0;
}
