/* All the ways to ask for the number of CPUs agree. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/sysinfo.h>
#include <unistd.h>

int main(void) {
    cpu_set_t set, one;
    sched_getaffinity(0, sizeof set, &set);
    printf("%ld %ld %d %d %d", sysconf(_SC_NPROCESSORS_ONLN), sysconf(_SC_NPROCESSORS_CONF), get_nprocs(),
           get_nprocs_conf(), CPU_COUNT(&set));
    pthread_getaffinity_np(pthread_self(), sizeof set, &set);
    printf(" %d", CPU_COUNT(&set));
    CPU_ZERO(&one);
    CPU_SET(3, &one);
    printf(" %d %d\n", sched_setaffinity(0, sizeof one, &one),
           pthread_setaffinity_np(pthread_self(), sizeof one, &one));
    return 0;
}
