/* However a process dies, what its threads did before must be there. The argument says how. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t done;

static void work(void) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
}

static void *worker(void *unused) {
    work();
    pthread_barrier_wait(&done);
    pause();
    return unused;
}

static void crash(int signal) {
    *(volatile int *)8 = signal;
}

static int overflow(volatile char *outer) {
    volatile char frame[4096];
    frame[0] = *outer;
    return overflow(frame) + frame[0];
}

/* What no program should do: it unmaps whatever belongs to a file that is not its own. */
static void unmap_journal(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    while (fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        if (strstr(line, ".ftj") && sscanf(line, "%lx-%lx", &start, &end) == 2)
            munmap((void *)start, end - start);
    }
    fclose(maps);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    pthread_t thread;
    pthread_barrier_init(&done, NULL, 2);
    pthread_create(&thread, NULL, worker, NULL);
    work();
    pthread_barrier_wait(&done);
    puts("now");
    fflush(stdout);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "_exit")) _exit(7);
    if (!strcmp(how, "exit")) exit(7);
    if (!strcmp(how, "overflow")) return overflow("");
    if (!strcmp(how, "handler")) {
        signal(SIGUSR1, crash);
        raise(SIGUSR1);
    }
    if (!strcmp(how, "terminated")) raise(SIGTERM);
    if (!strcmp(how, "exec")) execl("/bin/sh", "sh", "-c", "exit 7", NULL);
    if (!strcmp(how, "unmap")) {
        unmap_journal();
        work();
    }
    return 1;
}
