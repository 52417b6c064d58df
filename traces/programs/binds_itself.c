/* Threads bind themselves and each other to CPUs; what was set is what is got back. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static cpu_set_t set_of(unsigned cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu = 0; cpu < 32; cpu++)
        if (cpus >> cpu & 1)
            CPU_SET(cpu, &set);
    return set;
}

static unsigned cpus_of(const cpu_set_t *set) {
    unsigned cpus = 0;
    for (int cpu = 0; cpu < 32; cpu++)
        if (CPU_ISSET(cpu, set))
            cpus |= 1u << cpu;
    return cpus;
}

static unsigned own(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? cpus_of(&set) : 0;
}

static volatile unsigned long work;

static void compute(void) {
    for (int i = 0; i < 3000000; i++)
        work += i;
}

static void *inherits(void *unused) {
    (void)unused;
    compute();
    return (void *)(unsigned long)own();
}

static void *binds(void *unused) {
    (void)unused;
    cpu_set_t set = set_of(4);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    compute();
    return (void *)(unsigned long)own();
}

static pthread_barrier_t barrier;

static void *is_bound(void *unused) {
    (void)unused;
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    compute();
    return (void *)(unsigned long)own();
}

static void join(const char *what, pthread_t thread) {
    void *result;
    pthread_join(thread, &result);
    printf("%s %lx\n", what, (unsigned long)result);
}

int main(void) {
    printf("all %x\n", own());
    cpu_set_t set = set_of(0);
    int failed = sched_setaffinity(0, sizeof set, &set);
    printf("none %d %d\n", failed, errno == EINVAL);
    set = set_of(0x30000);
    printf("beyond %d\n", pthread_setaffinity_np(pthread_self(), sizeof set, &set) == EINVAL);
    set = set_of(0x30009);
    printf("some %d", sched_setaffinity(0, sizeof set, &set));
    printf(" %x\n", own());
    printf("raw %ld\n", syscall(SYS_sched_setaffinity, 0, sizeof set, NULL));
    unsigned long raw[16] = {0};
    printf("raw %ld", syscall(SYS_sched_getaffinity, 0, sizeof raw, raw));
    printf(" %lx\n", raw[0]);

    pthread_t thread;
    pthread_create(&thread, NULL, inherits, NULL);
    join("inherits", thread);
    pthread_create(&thread, NULL, binds, NULL);
    join("binds", thread);

    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    set = set_of(8);
    printf("attributes %d\n", pthread_attr_setaffinity_np(&attributes, sizeof set, &set));
    pthread_create(&thread, &attributes, inherits, NULL);
    join("created", thread);
    cpu_set_t kept;
    pthread_attr_getaffinity_np(&attributes, sizeof kept, &kept);
    printf("kept %x\n", cpus_of(&kept));
    pthread_attr_destroy(&attributes);

    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, is_bound, NULL);
    pthread_barrier_wait(&barrier);
    set = set_of(2);
    printf("other %d", pthread_setaffinity_np(thread, sizeof set, &set));
    CPU_ZERO(&set);
    pthread_getaffinity_np(thread, sizeof set, &set);
    printf(" %x\n", cpus_of(&set));
    pthread_barrier_wait(&barrier);
    join("bound", thread);
    return 0;
}
