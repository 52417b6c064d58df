/* Threads that are bound to CPUs of their own begin on the one that the program is recorded on all the same. */
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    unsigned long all = 0;
#pragma omp parallel num_threads(4) proc_bind(spread) reduction(| : all)
    {
        unsigned long mask[16] = {0};
        /* As the kernel tells it. */
        syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
        all |= mask[0];
    }
    printf("%d\n", __builtin_popcountl(all));
    return 0;
}
