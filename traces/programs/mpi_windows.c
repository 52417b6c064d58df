/* Ranks that put numbers into each other's windows and get them from there. In every other step one half of them works three times as long as the
 * other, so that all would be faster without waiting for each other. Arguments: steps, microseconds of work of a step, numbers, and how they wait:
 * "fences", "epochs" (post, start, complete, wait; by looking in every other step), or "locks" (and a barrier). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile double sink;

static void work(double microseconds)
{
    double value = 1;
    for (long step = 0; step < (long)(microseconds * 300); step++)
        value = value * 1.0000001 + 1e-9;
    sink = value;
}

static MPI_Win window;
static MPI_Group to, from;
static const char *how = "fences";

/* From here on the right one's part may be used. */
static void begin(int right)
{
    if (!strcmp(how, "epochs")) {
        MPI_Win_post(from, 0, window);
        MPI_Win_start(to, 0, window);
    } else if (!strcmp(how, "locks")) {
        MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window);
    }
}

/* What was put is there, and what was asked for. */
static void end(int right, int looks)
{
    int flag = 0;
    if (!strcmp(how, "epochs")) {
        MPI_Win_complete(window);
        while (looks && !flag)
            MPI_Win_test(window, &flag);
        if (!looks)
            MPI_Win_wait(window);
    } else if (!strcmp(how, "locks")) {
        MPI_Win_unlock(right, window);
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        MPI_Win_fence(0, window);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, steps = argc > 1 ? atoi(argv[1]) : 100, numbers = argc > 3 ? atoi(argv[3]) : 100;
    double amount = argc > 2 ? atof(argv[2]) : 100;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    MPI_Comm twin;
    MPI_Group all_ranks;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int *memory = calloc(numbers, sizeof *memory), *mine = calloc(numbers, sizeof *mine);
    int *got = calloc(numbers, sizeof *got);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Win_create(memory, numbers * sizeof *memory, sizeof *memory, MPI_INFO_NULL, twin, &window);
    MPI_Comm_free(&twin); /* The window stays. */
    MPI_Comm_group(MPI_COMM_WORLD, &all_ranks);
    MPI_Group_incl(all_ranks, 1, &right, &to);
    MPI_Group_incl(all_ranks, 1, &left, &from);
    if (argc > 4)
        how = argv[4];
    if (!strcmp(how, "fences"))
        MPI_Win_fence(0, window);
    int wrong = 0;
    for (int step = 0; step < steps; step++) {
        work((step + rank) % 2 ? amount : 3 * amount);
        mine[0] = step * size + rank;
        begin(right);
        MPI_Put(mine, numbers, MPI_INT, right, 0, numbers, MPI_INT, window);
        end(right, step % 2);
        wrong += memory[0] != step * size + left;
        begin(right);
        MPI_Get(got, numbers, MPI_INT, right, 0, numbers, MPI_INT, window);
        end(right, step % 2);
        wrong += got[0] != step * size + rank;
    }
    if (!strcmp(how, "locks")) {
        int one = 1, before = -1, sum = -1;
        MPI_Barrier(MPI_COMM_WORLD);
        memory[0] = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock_all(0, window);
        MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, window);
        MPI_Win_flush(0, window);
        wrong += before < 0 || before >= size;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Get_accumulate(&one, 0, MPI_INT, &sum, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, window);
        MPI_Win_unlock_all(window);
        wrong += sum != size;
    }
    MPI_Win_free(&window);
    int all = 0;
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf(all ? "%d wrong\n" : "fine\n", all);
    MPI_Finalize();
    return 0;
}
