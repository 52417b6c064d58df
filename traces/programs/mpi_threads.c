// Two ranks with two threads, which are in MPI at the same time, each by a communicator of its own. In every round the
// threads come in one order in one rank, and in the other order in the other.
//
//   mpi_threads ROUNDS
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int rank;
static long rounds;
static MPI_Comm both[2];
static long sums[2];

static void *strand(void *number) {
    long mine = (long)number;
    MPI_Comm comm = both[mine];
    int other = 1 - rank;
    for (long round = 0; round < rounds; round++) {
        long one = round, got[2] = {0, 0}, sum = 0;
        MPI_Request requests[2];
        MPI_Status status;
        // Thread 1 is the first in rank 0, and thread 0 in rank 1.
        if (mine == rank)
            usleep(1000);
        MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, comm);
        if (mine != rank)
            usleep(1000);
        MPI_Sendrecv(&one, 1, MPI_LONG, other, 1, &got[0], 1, MPI_LONG, other, 1, comm, MPI_STATUS_IGNORE);
        MPI_Isend(&one, 1, MPI_LONG, other, 2, comm, &requests[0]);
        MPI_Probe(MPI_ANY_SOURCE, 2, comm, &status);
        MPI_Irecv(&got[1], 1, MPI_LONG, status.MPI_SOURCE, 2, comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        if (mine == rank)
            usleep(1000);
        // One side waits until the other has begun to receive.
        if (rank == 0) {
            MPI_Ssend(&sum, 1, MPI_LONG, other, 3, comm);
        } else {
            MPI_Recv(&one, 1, MPI_LONG, other, 3, comm, MPI_STATUS_IGNORE);
            sum = one;
        }
        sums[mine] += sum + got[0] + got[1];
    }
    return NULL;
}

int main(int count, char **words) {
    rounds = count > 1 ? atol(words[1]) : 20;
    int granted;
    pthread_t other;
    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &granted);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (granted != MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < 2; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &both[i]);
    pthread_create(&other, NULL, strand, (void *)1);
    strand((void *)0);
    pthread_join(other, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld %ld\n", sums[0], sums[1]);
    MPI_Finalize();
    return 0;
}
