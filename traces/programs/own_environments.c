/* Starts programs with environments of its own, in all the ways there are, and with none. Nobody may open what it creates. */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char path[4096], *given[] = {"GIVEN=1", NULL}, *none[] = {NULL};

static void become(int way, char **words) {
    switch (way) {
    case 0: execle(path, path, words[1], (char *)NULL, given); break;
    case 1: execle(path, path, words[1], "3", "4", "5", "6", "7", (char *)NULL, given); break;
    case 2: execve(path, words, none); break;
    case 3: execve(path, words, NULL); break;
    case 4: execve(path, words, given); break;
    case 6: execv(path, words); break;
    }
    _exit(9);
}

int main(int count, char **arguments) {
    char *ways[] = {"execle", "execle on the stack", "execve", "execve of none", "vfork", "posix_spawn", "cleared", NULL};
    char command[5000], *value = getenv("GIVEN");
    if (count > 1) {
        pthread_mutex_lock(&mutex);
        printf("%s %s\n", arguments[1], value ? value : "-");
        pthread_mutex_unlock(&mutex);
        return 0;
    }
    umask(0777);
    if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) return 1;
    for (int way = 0; ways[way] != NULL; way++) {
        char *words[] = {path, ways[way], NULL};
        pid_t child = 0;
        if (way == 6) clearenv();
        if (way == 5) {
            if (posix_spawn(&child, path, NULL, NULL, words, given) != 0) return 2;
        } else if (way == 4) {
            child = vfork();
            if (child == 0) become(way, words);
        } else {
            child = fork();
            if (child == 0) become(way, words);
        }
        if (waitpid(child, NULL, 0) != child) return 3;
    }
    snprintf(command, sizeof command, "'%s' system; exit", path);
    return system(command);
}
