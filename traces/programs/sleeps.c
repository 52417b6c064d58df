/* Sleeps, once by each function that there is for it; the last time until a moment. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sys/select.h>
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
    struct timeval micros = {0, 8000};
    time.tv_nsec = 7000000;
    if (poll(NULL, 0, 6) != 0 || ppoll(NULL, 0, &time, NULL) != 0
        || select(0, NULL, NULL, NULL, &micros) != 0)
        return 3;
    time.tv_nsec = 9000000;
    if (pselect(5, NULL, NULL, NULL, &time, NULL) != 0 || time.tv_nsec != 9000000)
        return 4;
    if (poll(NULL, 0, 0) != 0)
        return 5;
    sleep(1);
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_sec += 1;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
    return errno != 0;
}
