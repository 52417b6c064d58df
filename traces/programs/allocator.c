/* A library with an allocator that takes its first memory with a lock held, as tcmalloc does, and which is used before the constructors of what was
   loaded before it have run. Who allocates meanwhile would wait for ever: here that is told. The library and the program are made of one file. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef LIBRARY

static char memory[1 << 24] __attribute__((aligned(16)));
static size_t used;
static int is_locked, is_ready;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void get_ready(void) { is_ready = 1; }

void *malloc(size_t size) {
    if (is_locked) {
        static const char message[] = "allocated by an allocator\n";
        ssize_t written = write(2, message, sizeof message - 1);
        _exit(written < 0 ? 2 : 3);
    }
    if (!is_ready) {
        is_locked = 1;
        pthread_once(&once, get_ready);
        is_locked = 0;
    }
    size_t begin = __atomic_fetch_add(&used, (size + 31) & ~(size_t)15, __ATOMIC_RELAXED);
    if (begin + size + 16 > sizeof memory)
        return NULL;
    *(size_t *)(memory + begin) = size;
    return memory + begin + 16;
}

void free(void *block) { (void)block; }

void *calloc(size_t count, size_t size) {
    void *block = malloc(count * size);
    return block ? memset(block, 0, count * size) : NULL;
}

void *realloc(void *block, size_t size) {
    void *larger = malloc(size);
    if (larger && block) {
        size_t before = *(size_t *)((char *)block - 16);
        memcpy(larger, block, before < size ? before : size);
    }
    return larger;
}

char *first;

__attribute__((constructor)) static void begin(void) { first = malloc(100); }

#else

extern char *first;

static void *work(void *mutex) {
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    return NULL;
}

int main(void) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    pthread_create(&thread, NULL, work, &mutex);
    pthread_join(thread, NULL);
    puts(first ? "allocated" : "no memory");
    return 0;
}

#endif
