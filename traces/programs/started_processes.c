/* Starts processes in all the ways there are, one after the other, and waits for each. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(int count, char **arguments)
{
    char *self[] = {arguments[0], "child", NULL};
    char command[4096], buffer[16];
    siginfo_t info;
    pid_t pid;
    if (count > 1)
        return strcmp(arguments[1], "child") != 0;
    pid = fork();
    if (pid == 0)
        execv(arguments[0], self);
    if (waitpid(pid, NULL, 0) != pid)
        return 1;
    pid = vfork();
    if (pid == 0) {
        execv("/nonexistent", self);
        execve(arguments[0], self, environ);
        _exit(9);
    }
    if (wait(NULL) != pid)
        return 2;
    if (posix_spawn(&pid, arguments[0], NULL, NULL, self, environ) || wait4(pid, NULL, 0, NULL) != pid)
        return 3;
    if (posix_spawnp(&pid, arguments[0], NULL, NULL, self, environ) || waitid(P_PID, pid, &info, WEXITED))
        return 4;
    if (posix_spawn(&pid, "/nonexistent", NULL, NULL, self, environ) == 0)
        return 5;
    snprintf(command, sizeof command, "'%s' child", arguments[0]);
    if (system(command))
        return 6;
    snprintf(command, sizeof command, "'%s' child; echo told", arguments[0]);
    FILE *stream = popen(command, "r");
    if (!fgets(buffer, sizeof buffer, stream) || strcmp(buffer, "told\n") || pclose(stream))
        return 7;
    printf("seven children\n");
    return 0;
}
