/* Sleeps, once by each function that there is for it; the last time until a moment. */
#include <errno.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
    struct timespec time = {0, 2000000};
    errno = 0;
    nanosleep(&time, NULL);
    usleep(3000);
    time.tv_nsec = 4000000;
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
    time.tv_nsec = 5000000;
    thrd_sleep(&time, NULL);
    if (nanosleep((const struct timespec *)1, NULL) == 0 || errno != EFAULT)
        return 2;
    errno = 0;
    sleep(1);
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_sec += 1;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
    return errno != 0;
}
