/* Threads that are bound to CPUs of their own begin on the one that the program is recorded on all the same. */
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <sys/syscall.h>

int main(void) {
    unsigned long all = 0;
#pragma omp parallel num_threads(4) proc_bind(spread) reduction(| : all)
    {
        unsigned long mask[16] = {0};
        /* As the kernel tells it. */
        long result;
        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "a"(SYS_sched_getaffinity), "D"(0), "S"(sizeof mask), "d"(mask)
                         : "rcx", "r11", "memory");
        all |= result > 0 ? mask[0] : ~0ul;
    }
    printf("%d\n", __builtin_popcountl(all));
    return 0;
}
