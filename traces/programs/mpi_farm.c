// A master and its slaves: rows of the Mandelbrot set, each given to whoever asks next. Receives are from anybody.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORK = 1, STOP = 2 };

static void row(int y, int width, int height, int *out)
{
    for (int x = 0; x < width; x++) {
        double cr = 3.0 * x / width - 2.0, ci = 2.0 * y / height - 1.0;
        double zr = 0, zi = 0;
        int n = 0;
        while (n < 500 && zr * zr + zi * zi < 4) {
            double t = zr * zr - zi * zi + cr;
            zi = 2 * zr * zi + ci;
            zr = t;
            n++;
        }
        out[x] = n;
    }
}

int main(int argc, char **argv)
{
    int width = argc > 1 ? atoi(argv[1]) : 400, height = argc > 2 ? atoi(argv[2]) : 200;
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *out = calloc(width + 1, sizeof *out);
    if (rank == 0) {
        int next = 0, busy = 0;
        long sum = 0;
        for (int slave = 1; slave < size; slave++) {
            int tag = next < height ? WORK : STOP;
            MPI_Send(&next, 1, MPI_INT, slave, tag, MPI_COMM_WORLD);
            if (tag == WORK) { next++; busy++; }
        }
        while (busy > 0) {
            MPI_Status status;
            MPI_Recv(out, width + 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            for (int x = 0; x < width; x++) sum += out[x];
            busy--;
            int tag = next < height ? WORK : STOP;
            MPI_Send(&next, 1, MPI_INT, status.MPI_SOURCE, tag, MPI_COMM_WORLD);
            if (tag == WORK) { next++; busy++; }
        }
        printf("sum %ld\n", sum);
    } else {
        for (;;) {
            int y;
            MPI_Status status;
            MPI_Recv(&y, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            if (status.MPI_TAG == STOP) break;
            row(y, width, height, out);
            MPI_Send(out, width + 1, MPI_INT, 0, WORK, MPI_COMM_WORLD);
        }
    }
    free(out);
    MPI_Finalize();
    return 0;
}
