/* A child that ends with much memory, which the kernel takes back before the parent hears of the end. The parent prints what the child used of the CPU in all, in
   nanoseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    pid_t child = fork();
    if (child == 0) {
        size_t size = 64 << 20;
        char *memory = malloc(size);
        if (memory == NULL)
            _exit(1);
        memset(memory, 1, size);
        _exit(0);
    }
    int status;
    struct rusage used;
    if (wait4(child, &status, 0, &used) != child || status != 0)
        return 1;
    long micros = used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    long seconds = used.ru_utime.tv_sec + used.ru_stime.tv_sec;
    printf("%ld\n", 1000 * (seconds * 1000000 + micros));
    return 0;
}
