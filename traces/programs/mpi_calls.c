// One call of MPI of every sort, between any number of ranks from 2 on; prints what must come out.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int fine, const char *what)
{
    if (!fine) {
        printf("wrong: %s\n", what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

int main(int argc, char **argv)
{
    int rank, size, value, flag, index, provided;
    MPI_Status status, statuses[8];
    MPI_Request request, requests[8];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;

    // Modes of sending, and receives from anybody with any tag.
    char buffer[4096];
    MPI_Buffer_attach(buffer, sizeof buffer);
    if (rank == 0) {
        for (int i = 0; i < 4 * (size - 1); i++) {
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, i % 2 ? MPI_STATUS_IGNORE : &status);
            check(value > 0 && value < size, "receive from anybody");
        }
    } else {
        value = rank;
        MPI_Send(&value, 1, MPI_INT, 0, 10, MPI_COMM_WORLD);
        MPI_Bsend(&value, 1, MPI_INT, 0, 11, MPI_COMM_WORLD);
        MPI_Ssend(&value, 1, MPI_INT, 0, 12, MPI_COMM_WORLD);
        MPI_Isend(&value, 1, MPI_INT, 0, 13, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    void *detached;
    int bytes;
    MPI_Buffer_detach(&detached, &bytes);
    MPI_Barrier(MPI_COMM_WORLD);

    // Nobody, both at once, and in place.
    int from = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, right, 20, &from, 1, MPI_INT, left, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(from == left, "sendrecv");
    value = rank;
    MPI_Sendrecv_replace(&value, 1, MPI_INT, right, 21, left, 21, MPI_COMM_WORLD, &status);
    check(value == left && status.MPI_SOURCE == left, "sendrecv_replace");
    MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 22, MPI_COMM_WORLD);
    MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 22, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&from, 1, MPI_INT, MPI_ANY_SOURCE, 23, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(&rank, 1, MPI_INT, right, 23, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    check(from == left, "waitall");

    // Any, some, and looking.
    for (int i = 0; i < 3; i++) {
        MPI_Irecv(&buffer[i * 4], 1, MPI_INT, left, 30 + i, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(&rank, 1, MPI_INT, right, 30 + i, MPI_COMM_WORLD, &requests[3 + i]);
    }
    MPI_Waitany(6, requests, &index, &status);
    check(index >= 0 && index < 6, "waitany");
    int done = 1, indices[6], count;
    MPI_Waitsome(6, requests, &count, indices, statuses);
    done += count;
    while (done < 6) {
        MPI_Testany(6, requests, &index, &flag, &status);
        done += flag && index != MPI_UNDEFINED;
    }
    MPI_Irecv(&from, 1, MPI_INT, left, 40, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&rank, 1, MPI_INT, right, 40, MPI_COMM_WORLD, &requests[1]);
    do MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE); while (!flag);
    check(from == left, "testall");
    MPI_Irecv(&from, 1, MPI_INT, left, 41, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&rank, 1, MPI_INT, right, 41, MPI_COMM_WORLD, &requests[1]);
    for (done = 0; done < 2; done += count) {
        MPI_Testsome(2, requests, &count, indices, statuses);
        if (count == MPI_UNDEFINED) break;
    }

    // Probes.
    MPI_Isend(&rank, 1, MPI_INT, right, 50, MPI_COMM_WORLD, &request);
    MPI_Probe(MPI_ANY_SOURCE, 50, MPI_COMM_WORLD, &status);
    MPI_Recv(&from, 1, MPI_INT, status.MPI_SOURCE, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(&rank, 1, MPI_INT, right, 51, MPI_COMM_WORLD, &request);
    do MPI_Iprobe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); while (!flag);
    MPI_Message message;
    MPI_Mprobe(left, 51, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(&from, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(from == left, "mprobe");

    // Persistent requests.
    MPI_Recv_init(&from, 1, MPI_INT, left, 60, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(&rank, 1, MPI_INT, right, 60, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 3; i++) {
        if (i == 1) {
            MPI_Start(&requests[0]);
            MPI_Start(&requests[1]);
        } else {
            MPI_Startall(2, requests);
        }
        MPI_Waitall(2, requests, statuses);
        check(from == left, "persistent");
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);

    // A receive that is given up.
    MPI_Irecv(&value, 1, MPI_INT, left, 99, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    // Everybody together.
    int *all = calloc(size * 2, sizeof *all), *more = calloc(size * 2, sizeof *more), sum = 0;
    int *counts = calloc(size, sizeof *counts), *places = calloc(size, sizeof *places);
    for (int i = 0; i < size; i++) { counts[i] = 1; places[i] = i; }
    MPI_Barrier(MPI_COMM_WORLD);
    value = rank == 1 ? 77 : 0;
    MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD);
    check(value == 77, "bcast");
    MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    check(sum == size * (size - 1) / 2, "reduce");
    MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatter(all, 1, MPI_INT, &value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    check(value == rank, "scatter");
    MPI_Gatherv(&rank, 1, MPI_INT, all, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatterv(all, counts, places, MPI_INT, &value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgatherv(&rank, 1, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
    check(all[size - 1] == size - 1, "allgather");
    MPI_Alltoall(all, 1, MPI_INT, more, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoallv(all, counts, places, MPI_INT, more, counts, places, MPI_INT, MPI_COMM_WORLD);
    check(more[0] == rank, "alltoall");
    MPI_Reduce_scatter(all, &value, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(all, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check(value == rank * size, "reduce_scatter");
    MPI_Scan(&rank, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(&rank, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    MPI_Ibcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    check(sum == size * (size - 1) / 2, "iallreduce");

    // Communicators: messages there are between the same ranks by other numbers.
    MPI_Comm half, twin, both, whole;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    int own, members;
    MPI_Comm_rank(half, &own);
    MPI_Comm_size(half, &members);
    MPI_Sendrecv(&rank, 1, MPI_INT, (own + 1) % members, 70, &from, 1, MPI_INT, (own + members - 1) % members, 70, half, &status);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
    MPI_Comm_dup(half, &twin);
    MPI_Barrier(twin);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? size - 1 - (size + 1) % 2 : size - 1 - size % 2, 80, &both);
    if (own == 0) {
        MPI_Sendrecv(&rank, 1, MPI_INT, 0, 81, &from, 1, MPI_INT, 0, 81, both, &status);
        check(from % 2 != rank % 2, "intercommunicator");
    }
    MPI_Intercomm_merge(both, rank % 2, &whole);
    MPI_Barrier(whole);
    MPI_Comm_free(&whole);
    MPI_Comm_free(&both);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&half);
    free(all);
    free(more);
    free(counts);
    free(places);
    if (rank == 0) printf("fine\n");
    MPI_Finalize();
    return 0;
}
