/* A register that is used as a frame pointer, or for anything else, points to memory that is gone: once it lay right above a
 * coroutine's stack, or was part of one. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { PAGE = 4096, STACK = 16 * PAGE };
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static ucontext_t outside, inside;
static char *stack;

/* Locks and unlocks a mutex while that register holds an address. */
static __attribute__((noinline)) void lock_with(void *address) {
    __asm__ volatile(
        "push %%rbp\n\t"
        "mov %0, %%rbp\n\t"
        "mov %%rsp, %%rbx\n\t"
        "sub $256, %%rsp\n\t"
        "and $-16, %%rsp\n\t"
        "mov %1, %%r12\n\t"
        "mov %%r12, %%rdi\n\t"
        "call pthread_mutex_lock@PLT\n\t"
        "mov %%r12, %%rdi\n\t"
        "call pthread_mutex_unlock@PLT\n\t"
        "mov %%rbx, %%rsp\n\t"
        "pop %%rbp"
        :
        : "r"(address), "r"(&mutex)
        : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "memory", "cc");
}

static void run(void (*function)(void), size_t bytes) {
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = bytes;
    inside.uc_link = &outside;
    makecontext(&inside, function, 0);
    swapcontext(&outside, &inside);
}

static void lock_beside_what_goes_away(void) {
    char *above = stack + STACK;
    memset(above, 0, PAGE);
    memset(above + 72, 1, 4);
    for (int i = 0; i < 3; i++) lock_with(above + 64);
    munmap(above, PAGE);
    lock_with(above + 64);
}

static __attribute__((noinline, optimize("no-omit-frame-pointer"))) int lock_deep_down(int depth) {
    char bytes[512];
    memset(bytes, depth, sizeof bytes);
    __asm__ volatile("" : : "r"(bytes) : "memory");
    if (depth > 0) return lock_deep_down(depth - 1) + bytes[0];
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return 0;
}

static void use_all(void) { lock_deep_down(12); }

static void lock_beside_a_hole(void) { lock_with(stack + STACK - PAGE / 2); }

static void *work(void *unused) {
    stack = mmap(NULL, STACK + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    run(lock_beside_what_goes_away, STACK);
    run(use_all, STACK);
    munmap(stack + STACK - PAGE, PAGE);
    run(lock_beside_a_hole, STACK - PAGE);
    return unused;
}

int main(void) {
    pthread_t thread;
    work(NULL);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    puts("done");
    return 0;
}
