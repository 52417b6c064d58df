// Has functions of the dynamic linker's and the C library's names, each of which looks the real one up at its first call, as Seastar, sanitizers
// and tracers do. A recorder whose own lookups called them would call nothing, or itself without end.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) \
        real = (__typeof__(real))dlsym(RTLD_NEXT, #name);

int dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *), void *data) {
    REAL(dl_iterate_phdr)
    return real(visit, data);
}

int strcmp(const char *a, const char *b) {
    REAL(strcmp)
    return real(a, b);
}

int memcmp(const void *a, const void *b, size_t n) {
    REAL(memcmp)
    return real(a, b, n);
}

size_t strlen(const char *s) {
    // In a library of its choice.
    static __typeof__(&strlen) real;
    if (!real)
        real = (__typeof__(real))dlsym(dlopen("libc.so.6", RTLD_LAZY), "strlen");
    return real(s);
}

void *memcpy(void *to, const void *from, size_t n) {
    REAL(memcpy)
    return real(to, from, n);
}

void *memset(void *to, int byte, size_t n) {
    REAL(memset)
    return real(to, byte, n);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument) {
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}

static int count(struct dl_phdr_info *info, size_t size, void *data) {
    (void)info;
    (void)size;
    ++*(int *)data;
    return 0;
}

int main(int argc, char **argv) {
    int libraries = 0;
    dl_iterate_phdr(count, &libraries);
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    char text[16];
    memset(text, 0, sizeof text);
    memcpy(text, "found", argc + 4);
    printf("%d %s %d\n", libraries > 2, text, strlen(argv[0]) > 0 && strcmp(text, "x") < 0);
    // What the C library may lack is not there because of the recorder.
    printf("%d\n", dlsym(RTLD_DEFAULT, "__isoc99_vscanf") != NULL);
    return 0;
}
