/* What a thread is bound to its children are, and the programs that it becomes or starts. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static unsigned long own(void) {
    unsigned long set[16] = {0};
    return sched_getaffinity(0, sizeof set, (cpu_set_t *)set) == 0 ? set[0] : 0;
}

static int bind_to(pid_t thread, unsigned long cpus, size_t bytes) {
    unsigned long set[16] = {cpus};
    return sched_setaffinity(thread, bytes, (cpu_set_t *)set);
}

static void told(const char *what, int result) {
    printf("%s %d\n", what, result == 0 ? 0 : errno);
}

/* As interpreters and shells do. */
static char **copied(void) {
    int count = 0;
    while (environ[count] != NULL) count++;
    char **copy = calloc(count + 1, sizeof *copy);
    for (int i = 0; i < count; i++) copy[i] = strdup(environ[i]);
    return copy;
}

static void become(int way, char **copy) {
    char *path = "/proc/self/exe";
    char *words[] = {"program", (char *[]){"execl", "execv", "execve", "execvpe", "execle"}[way], NULL};
    switch (way) {
    case 0: execl(path, words[0], words[1], (char *)NULL); break;
    case 1: execv(path, words); break;
    case 2: execve(path, words, copy); break;
    case 3: execvpe(path, words, copy); break;
    case 4: execle(path, words[0], words[1], (char *)NULL, environ); break;
    }
    _exit(1);
}

static void *starts(void *path) {
    int status;
    pid_t child;
    bind_to(0, 4, 8);
    char *words[] = {"program", "spawned by a thread", NULL};
    posix_spawn(&child, path, NULL, NULL, words, environ);
    waitpid(child, &status, 0);
    return NULL;
}

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (count > 1) {
        printf("%s %lx\n", arguments[1], own());
        return 0;
    }
    char **copy = copied();
    char path[4096] = {0}, command[5000];
    int status;
    if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) return 1;
    printf("all %lx\n", own());
    bind_to(0, 0xa, 8);
    for (int way = 0; way < 5; way++) {
        pid_t child = fork();
        if (child == 0) {
            if (way == 0) printf("forked %lx\n", own());
            become(way, copy);
        }
        waitpid(child, &status, 0);
    }
    pid_t child;
    char *words[] = {"program", "spawned", NULL};
    posix_spawn(&child, path, NULL, NULL, words, copy);
    waitpid(child, &status, 0);
    child = vfork();
    if (child == 0) {
        words[1] = "bound in vfork";
        bind_to(0, 8, 8);
        execv(path, words);
        _exit(1);
    }
    waitpid(child, &status, 0);
    printf("parent %lx\n", own());
    pthread_t thread;
    pthread_create(&thread, NULL, starts, path);
    pthread_join(thread, NULL);
    snprintf(command, sizeof command, "%s 'started by a shell'", path);
    if (system(command) != 0) return 1;

    unsigned long set[16];
    int ends[2], back[2];
    char byte = 0;
    if (pipe(ends) != 0 || pipe(back) != 0) return 1;
    child = fork();
    if (child == 0) {
        if (read(ends[0], &byte, 1) != 1) _exit(1);
        printf("bound by another %lx\n", own());
        if (fork() == 0) become(1, copy);
        wait(&status);
        if (write(back[1], &byte, 1) == 1) pause();
        _exit(0);
    }
    told("child", sched_getaffinity(child, sizeof set, (cpu_set_t *)set));
    told("bound", bind_to(child, 0x10, 8));
    sched_getaffinity(child, 8, (cpu_set_t *)set);
    printf("to %lx\n", set[0]);
    told("empty", bind_to(child, 0, 8));
    if (write(ends[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) return 1;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    told("gone", bind_to(child, 1, 8));
    told("gone", sched_getaffinity(child, sizeof set, (cpu_set_t *)set));
    told("small", sched_getaffinity(0, 4, (cpu_set_t *)set));
    return 0;
}
