/* Uses a newer function of the C library's where that has it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>

extern int __isoc23_vfscanf(FILE *, const char *, va_list) __attribute__((weak));

static int scan(FILE *stream, const char *format, ...) {
    va_list places;
    va_start(places, format);
    int found = __isoc23_vfscanf ? __isoc23_vfscanf(stream, format, places) : 1;
    va_end(places);
    return found;
}

int main(void) {
    char text[] = "7";
    int number = 7;
    FILE *stream = fmemopen(text, 1, "r");
    int found = scan(stream, "%d", &number);
    printf("%d %d %d\n", found, number, dlsym(RTLD_DEFAULT, "__isoc23_vfscanf") != NULL);
    return 0;
}
