/* dlopen looks at who calls it: the library is found by this program's search path alone. */
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
    void *library = dlopen("libopened.so", RTLD_NOW);
    if (library == NULL) {
        puts(dlerror());
        return 1;
    }
    void (*lock)(void) = (void (*)(void))dlsym(library, "lock_in_library");
    lock();
    puts("opened");
    return 0;
}
