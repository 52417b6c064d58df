// A ring of ranks that exchange their edges, each iteration, and agree on how far they are.
#include <mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int cells = argc > 1 ? atoi(argv[1]) : 200000, steps = argc > 2 ? atoi(argv[2]) : 50;
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm ring;
    int periodic = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Comm_rank(ring, &rank);
    int left, right, own = cells / size;
    MPI_Cart_shift(ring, 0, 1, &left, &right);
    double *old = calloc(own + 2, sizeof *old), *new = calloc(own + 2, sizeof *new);
    for (int i = 1; i <= own; i++) old[i] = sin(rank * own + i);
    double all = 0;
    for (int step = 0; step < steps; step++) {
        MPI_Request requests[4];
        MPI_Irecv(&old[0], 1, MPI_DOUBLE, left, 1, ring, &requests[0]);
        MPI_Irecv(&old[own + 1], 1, MPI_DOUBLE, right, 2, ring, &requests[1]);
        MPI_Isend(&old[own], 1, MPI_DOUBLE, right, 1, ring, &requests[2]);
        MPI_Isend(&old[1], 1, MPI_DOUBLE, left, 2, ring, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        double change = 0;
        for (int i = 1; i <= own; i++) {
            new[i] = 0.25 * old[i - 1] + 0.5 * old[i] + 0.25 * old[i + 1] + 1e-9 * cos(old[i]);
            change += fabs(new[i] - old[i]);
        }
        MPI_Allreduce(&change, &all, 1, MPI_DOUBLE, MPI_SUM, ring);
        double *t = old;
        old = new;
        new = t;
    }
    if (rank == 0) printf("change %.6f\n", all);
    free(old);
    free(new);
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return 0;
}
