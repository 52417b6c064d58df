/* The recorder's share of a thread's memory must fit into the smallest stack there is, also where files, sockets and programs are opened. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int starts(void) {
    int status = 0;
    pid_t child = vfork();
    if (child == 0) {
        execlp("true", "true", (char *)NULL);
        _exit(1);
    }
    return waitpid(child, &status, 0) == child ? status : -1;
}

static void *work(void *unused) {
    struct sockaddr_un nobody = {.sun_family = AF_UNIX, .sun_path = "/nowhere/socket"};
    int ends[2], file, directory;
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return &mutex;
    if (write(ends[0], "", 1) != 1 || read(ends[1], &file, 1) != 1) return &mutex;
    if (connect(ends[0], (struct sockaddr *)&nobody, sizeof nobody) == 0) return &mutex;
    file = open("/proc/cpuinfo", O_RDONLY);
    directory = open("/sys/devices/system/cpu", O_RDONLY | O_DIRECTORY);
    if (file < 0 || directory < 0 || openat(directory, "online", O_RDONLY) < 0) return &mutex;
    return starts() == 0 ? unused : &mutex;
}

int main(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    void *result = &mutex;
    pthread_attr_init(&attributes);
    printf("%d", pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)));
    printf(" %d", pthread_create(&thread, &attributes, work, NULL));
    printf(" %d", pthread_join(thread, &result));
    printf(" %d\n", result == NULL);
    return 0;
}
