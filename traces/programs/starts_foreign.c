/* Starts a program in every way, and a script that it runs; that one tells what is to be preloaded into it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void become(int way, char *path, char **words) {
    switch (way) {
    case 0: execl(path, words[0], words[1], (char *)NULL); break;
    case 1: execv(path, words); break;
    case 2: execve(path, words, environ); break;
    case 3: execlp("foreign", words[0], words[1], (char *)NULL); break;
    case 4: execvp("foreign", words); break;
    case 5: execvpe("foreign", words, environ); break;
    case 6: fexecve(open(path, O_RDONLY), words, environ); break;
    case 7: execveat(AT_FDCWD, path, words, environ, 0); break;
    case 8: execle(path, words[0], words[1], (char *)NULL, environ); break;
    }
    _exit(1);
}

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (count > 1 && strcmp(arguments[1], "told") == 0) {
        const char *preload = getenv("LD_PRELOAD");
        printf("%s\n", preload == NULL ? "nothing" : preload);
        return 0;
    }
    /* The directory of another program like this one, and that one's name. */
    char path[4096], script[4096];
    char *words[] = {"foreign", "told", NULL};
    int status;
    pid_t child;
    if (count < 2) return 1;
    setenv("PATH", arguments[1], 1);
    snprintf(path, sizeof path, "%s/foreign", arguments[1]);
    for (int way = 0; way < 8; way++) {
        child = fork();
        if (child == 0) {
            /* What fails changes nothing. */
            execv("/nowhere/program", words);
            become(way, path, words);
        }
        waitpid(child, &status, 0);
    }
    for (int way = 0; way < 9; way++) {
        child = vfork();
        if (child == 0) become(way, path, words);
        waitpid(child, &status, 0);
    }
    posix_spawn(&child, path, NULL, NULL, words, environ);
    waitpid(child, &status, 0);
    posix_spawnp(&child, "foreign", NULL, NULL, words, environ);
    waitpid(child, &status, 0);
    snprintf(script, sizeof script, "%s/script", arguments[1]);
    FILE *file = fopen(script, "w");
    if (file == NULL) return 1;
    fprintf(file, "#! %s told\n", path);
    fclose(file);
    chmod(script, 0700);
    child = fork();
    if (child == 0) execl(script, script, (char *)NULL);
    waitpid(child, &status, 0);
    child = fork();
    if (child == 0) execl("/proc/self/exe", "ours", "told", (char *)NULL);
    waitpid(child, &status, 0);
    return 0;
}
