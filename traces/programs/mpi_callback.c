// What the program has MPI call while MPI works for it: with locks, and for longer than a turn of a thread.
//
//   mpi_callback CALLS
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long unlocked;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// Half a millisecond of short sections.
static void lock_again_and_again(void) {
    for (double end = now() + 5e-4; now() < end; unlocked++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
}

static int on_delete(MPI_Comm communicator, int key, void *value, void *extra) {
    (void)communicator, (void)key, (void)value, (void)extra;
    lock_again_and_again();
    return MPI_SUCCESS;
}

static void *nothing(void *argument) { return argument; }

int main(int count, char **words) {
    long calls = count > 1 ? atol(words[1]) : 20;
    int key;
    pthread_t thread;
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
    MPI_Init(&count, &words);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL);
    for (long call = 0; call < calls; call++) {
        MPI_Comm duplicate;
        MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
        MPI_Comm_set_attr(duplicate, key, NULL);
        MPI_Comm_free(&duplicate);
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    MPI_Comm_free_keyval(&key);
    printf("%s\n", unlocked > calls ? "called back" : "not called back");
    MPI_Finalize();
    return 0;
}
