/* Starts four processes that compute, and waits for them. */
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static unsigned compute(long millis)
{
    struct timespec begin, now;
    unsigned sum = 0;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    do {
        for (unsigned i = 0; i < 10000; i++)
            sum = sum * 31 + i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < millis);
    return sum;
}

int main(void)
{
    pid_t workers[4];
    int status, failed = 0;
    for (int i = 0; i < 4; i++) {
        workers[i] = fork();
        if (workers[i] == 0)
            return compute(50) == 1;
    }
    for (int i = 0; i < 4; i++)
        if (waitpid(workers[i], &status, 0) != workers[i] || status)
            failed++;
    printf("%d failed, %d more\n", failed, wait(NULL) > 0);
    return 0;
}
