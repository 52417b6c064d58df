/* The program knows nothing of OpenMP; a library that it opens for itself alone does, and brings libgomp along. */
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
    void *library = dlopen("libopenmp_opened.so", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return puts(dlerror()) != 0;
    long (*sum)(int) = (long (*)(int))dlsym(library, "sum");
    for (int i = 0; i < 3; i++) printf("%ld\n", sum(1000));
    return 0;
}
