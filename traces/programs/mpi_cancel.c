// A rank gives two receives up, one of which has its message already.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double sent = 1, received[2];
    if (rank == 1) {
        MPI_Request requests[2];
        for (int i = 0; i < 2; i++)
            MPI_Irecv(&received[i], 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Status statuses[2];
        int cancelled[2];
        for (int i = 0; i < 2; i++) {
            MPI_Cancel(&requests[i]);
            MPI_Wait(&requests[i], &statuses[i]);
            MPI_Test_cancelled(&statuses[i], &cancelled[i]);
        }
        printf("the first %s %d, the second %s\n", cancelled[0] ? "was cancelled" : "came from", statuses[0].MPI_SOURCE,
               cancelled[1] ? "was cancelled" : "came");
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Send(&sent, 1, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
}
