/* Opens a library so that it looks its own functions up first: its calls pass by whoever stands in for them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
    void *library = dlopen("libopened.so", RTLD_NOW | RTLD_DEEPBIND);
    if (library == NULL) {
        puts(dlerror());
        return 1;
    }
    void (*lock)(void) = (void (*)(void))dlsym(library, "lock_in_library");
    lock();
    puts("opened");
    return 0;
}
