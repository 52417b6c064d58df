/* Waits until a thread, given by its number in the system, is blocked: on a busy machine no sleep is long enough. */
#include <stdio.h>
#include <time.h>

static void await_blocked(int thread)
{
    struct timespec millisecond = {0, 1000000};
    char path[64], state = 'R';
    snprintf(path, sizeof path, "/proc/%d/stat", thread);
    while (state != 'S') {
        FILE *file = fopen(path, "r");
        if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            return;
        fclose(file);
        nanosleep(&millisecond, NULL);
    }
}
