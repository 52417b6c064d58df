// Calls of MPI that not every program makes: between neighbours, with duplicated communicators, files and windows; and, where
// the library has MPI 4, with 64-bit counts, persistent operations, partitions and sessions. For any number of ranks from 2 on.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int fine, const char *what)
{
    if (!fine) {
        printf("wrong: %s\n", what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static void neighbours(int rank, int size)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Comm ring, graph;
    MPI_Request request;
    int periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    int mine[2] = {rank, rank}, theirs[2] = {-1, -1}, counts[2] = {1, 1}, places[2] = {0, 1};
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, theirs, 1, MPI_INT, ring);
    check(theirs[0] == left && theirs[1] == right, "neighbor_allgather");
    MPI_Neighbor_alltoallv(mine, counts, places, MPI_INT, theirs, counts, places, MPI_INT, ring);
    check(theirs[0] == left && theirs[1] == right, "neighbor_alltoallv");
    MPI_Ineighbor_alltoall(mine, 1, MPI_INT, theirs, 1, MPI_INT, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&ring);

    // Each sends two numbers to the next one; nobody sends back.
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    theirs[0] = theirs[1] = -1;
    MPI_Neighbor_alltoall(mine, 2, MPI_INT, theirs, 2, MPI_INT, graph);
    check(theirs[0] == left && theirs[1] == left, "neighbor_alltoall");
    MPI_Comm_free(&graph);
}

static void others(int rank, int size)
{
    MPI_Comm twin, parent;
    MPI_Request request;
    int sum = 0, *memory;
    MPI_Comm_get_parent(&parent);
    check(parent == MPI_COMM_NULL, "comm_get_parent");
    MPI_Comm_idup(MPI_COMM_WORLD, &twin, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, twin);
    check(sum == size * (size - 1) / 2, "comm_idup");
    MPI_Comm_free(&twin);

    MPI_Win window;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);

    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "numbers", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_File_write_at(file, rank * sizeof rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_write_at_all(file, rank * sizeof rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

#if MPI_VERSION >= 4
static void wide(int rank, int size)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size, from = -1, value = rank;
    MPI_Status status;
    MPI_Request request;
    MPI_Isend_c(&rank, 1, MPI_INT, right, 100, MPI_COMM_WORLD, &request);
    MPI_Recv_c(&from, 1, MPI_INT, MPI_ANY_SOURCE, 100, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(from == left && status.MPI_SOURCE == left, "recv_c");
    MPI_Sendrecv_c(&rank, 1, MPI_INT, right, 101, &from, 1, MPI_INT, left, 101, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(from == left, "sendrecv_c");
    MPI_Isendrecv(&rank, 1, MPI_INT, right, 102, &from, 1, MPI_INT, MPI_ANY_SOURCE, 102, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(from == left, "isendrecv");
    MPI_Isendrecv_replace(&value, 1, MPI_INT, right, 103, left, 103, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(value == left, "isendrecv_replace");
    int sum = 0, *all = calloc(size, sizeof *all);
    MPI_Count *counts = calloc(size, sizeof *counts);
    MPI_Aint *places = calloc(size, sizeof *places);
    for (int i = 0; i < size; i++) { counts[i] = 1; places[i] = i; }
    MPI_Allreduce_c(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allgatherv_c(&rank, 1, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
    check(sum == size * (size - 1) / 2 && all[size - 1] == size - 1, "allgatherv_c");
    free(all);
    free(counts);
    free(places);
}

static void persistent(int rank, int size)
{
    int sum = 0, value = rank == 0 ? 5 : 0, theirs[2], mine[2] = {rank, rank}, periodic = 1;
    MPI_Comm ring;
    MPI_Request requests[3];
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Bcast_init(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Neighbor_alltoall_init(mine, 1, MPI_INT, theirs, 1, MPI_INT, ring, MPI_INFO_NULL, &requests[2]);
    for (int i = 0; i < 3; i++) {
        if (i == 1) {
            MPI_Start(&requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else {
            MPI_Startall(3, requests);
            MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        }
        check(sum == size * (size - 1) / 2 && value == 5, "persistent collectives");
    }
    for (int i = 0; i < 3; i++) MPI_Request_free(&requests[i]);
    MPI_Comm_free(&ring);

    // Two ranks: one sends three partitions, the other receives them as one.
    int parts[6] = {1, 2, 3, 4, 5, 6}, got[6] = {0}, flag = 0;
    if (rank < 2) {
        if (rank == 0)
            MPI_Psend_init(parts, 3, 2, MPI_INT, 1, 110, MPI_COMM_WORLD, MPI_INFO_NULL, requests);
        else
            MPI_Precv_init(got, 1, 6, MPI_INT, 0, 110, MPI_COMM_WORLD, MPI_INFO_NULL, requests);
        for (int i = 0; i < 2; i++) {
            MPI_Start(requests);
            if (rank == 0) {
                MPI_Pready(2, requests[0]);
                MPI_Pready_range(0, 1, requests[0]);
            } else {
                while (!flag) MPI_Parrived(requests[0], 0, &flag);
            }
            MPI_Wait(requests, MPI_STATUS_IGNORE);
        }
        check(rank == 0 || got[5] == 6, "partitions");
        MPI_Request_free(requests);
    }
}

static void sessions(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm all;
    int rank, size, sum = 0;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "here", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &all);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
    int right = (rank + 1) % size, left = (rank + size - 1) % size, from = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, right, 120, &from, 1, MPI_INT, left, 120, all, MPI_STATUS_IGNORE);
    if (rank == 0) printf(sum == size * (size - 1) / 2 && from == left ? "fine\n" : "wrong: sessions\n");
    MPI_Group_free(&group);
    MPI_Comm_free(&all);
    MPI_Session_finalize(&session);
}
#endif

int main(int argc, char **argv)
{
    int rank, size, provided;
#if MPI_VERSION >= 4
    if (argc > 1) {
        sessions();
        return 0;
    }
#endif
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    neighbours(rank, size);
    others(rank, size);
#if MPI_VERSION >= 4
    wide(rank, size);
    persistent(rank, size);
#endif
    if (rank == 0) printf("fine\n");
    MPI_Finalize();
    return 0;
}
