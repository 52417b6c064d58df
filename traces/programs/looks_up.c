/* A program that looks its functions up in a library of its choice, as Free Pascal's threads do and those that work with several versions of a
 * library. What else it asks is answered as always: by the order of libraries, by what follows the caller, and that there is nothing, as of OpenMP and
 * MPI, which this program does not have. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int (*lock)(pthread_mutex_t *);
static int (*unlock)(pthread_mutex_t *);
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int count;

/* Stands in for the C library's, which is behind it. */
int puts(const char *text) {
    int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "puts");
    return next == puts ? -1 : next(text);
}

static void *work(void *unused) {
    for (int i = 0; i < 3; i++) {
        lock(&mutex);
        count++;
        unlock(&mutex);
    }
    return unused;
}

int main(void) {
    void *library = dlopen("libpthread.so.0", RTLD_NOW);
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(library, "pthread_create");
    int (*join)(pthread_t, void **) = dlsym(library, "pthread_join");
    lock = dlsym(library, "pthread_mutex_lock");
    unlock = dlsym(library, "pthread_mutex_unlock");
    pthread_t thread;
    if (!create || !join || !lock || !unlock || create(&thread, NULL, work, NULL))
        return 1;
    join(thread, NULL);
    int is_own = dlsym(RTLD_DEFAULT, "puts") == (void *)puts;
    int is_libcs = dlsym(library, "puts") != (void *)puts;
    int is_silent = dlerror() == NULL;
    int is_nothing = dlsym(library, "no_such_function") == NULL;
    const char *error = dlerror();
    printf("%d %d %d %d %d\n", count, is_own, is_libcs, is_silent, is_nothing);
    puts(error && strstr(error, "no_such_function") ? "told" : "not told");
    /* As those ask that can do without. */
    int has_openmp = dlsym(RTLD_DEFAULT, "GOMP_parallel") || dlsym(RTLD_DEFAULT, "omp_set_lock");
    int has_mpi = dlsym(RTLD_DEFAULT, "MPI_Init") || dlsym(dlopen(NULL, RTLD_NOW), "MPI_Init");
    error = dlerror();
    printf("%d %d %s\n", has_openmp, has_mpi, error && strstr(error, "MPI_Init") ? "told" : "not told");
    return 0;
}
