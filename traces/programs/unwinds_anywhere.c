/* A handler that looks at its callers at every instruction of some calls finds them all: profilers do so now and then. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

extern char __start_stepped[], __stop_stepped[];

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int steps, lost;

static int is_stepped(const void *address) {
    return (const char *)address >= __start_stepped && (const char *)address < __stop_stepped;
}

static void look(int number, siginfo_t *info, void *context) {
    const ucontext_t *place = context;
    void *frames[64];
    (void)number, (void)info;
    /* The caller's own flags are on its stack for a moment, which nobody is told. */
    if (is_stepped((void *)place->uc_mcontext.gregs[REG_RIP])) return;
    int found = 0, count = backtrace(frames, 64);
    for (int i = 0; i < count; i++) found |= is_stepped(frames[i]);
    steps++;
    lost += !found;
}

/* Sets or clears the flag by which the processor stops after each instruction. */
#define BEGIN asm volatile("lea -128(%%rsp), %%rsp\n pushfq\n orl $0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::: "memory", "cc")
#define END asm volatile("lea -128(%%rsp), %%rsp\n pushfq\n andl $~0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::: "memory", "cc")

__attribute__((section("stepped"), noinline)) static int calls(int which) {
    int result = 0;
    BEGIN;
    switch (which) {
    case 0: result = pthread_mutex_lock(&mutex); break;
    case 1: result = pthread_mutex_unlock(&mutex); break;
    case 2: result = open("/nowhere/at/all", O_RDONLY); break;
    case 3: result = syscall(SYS_getppid) <= 0; break;
    case 4: result = dlsym(RTLD_DEFAULT, "puts") == NULL; break;
    }
    END;
    return result;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = look, .sa_flags = SA_SIGINFO};
    void *frames[4];
    /* Both the functions and the unwinder are looked up before. */
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    open("/nowhere/at/all", O_RDONLY);
    syscall(SYS_getppid);
    dlsym(RTLD_DEFAULT, "puts");
    backtrace(frames, 4);
    sigaction(SIGTRAP, &action, NULL);
    for (int which = 0; which < 5; which++) {
        steps = lost = 0;
        calls(which);
        printf("%d: %s, %d lost\n", which, steps > 3 ? "stepped" : "not stepped", lost);
    }
    return 0;
}
