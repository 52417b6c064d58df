/* Loops whose parts are tasks: by number, by grain size, downwards, without a sign, with reductions, with data that has to be
 * copied or that is large, that nobody waits for, and so many that they are done at once. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { LOOP = 48, MANY = 100000 };
static long results[LOOP];
static long many;

typedef struct { char bytes[8192]; } large;

static int sum(void) {
    long all = 0;
    for (int i = 0; i < LOOP; i++) all += results[i];
    memset(results, 0, sizeof results);
    return (int)all;
}

int main(int count, char **arguments) {
    (void)arguments;
    int by = count + 1;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp taskloop num_tasks(6)
        for (int i = 0; i < LOOP; i++) results[i] += i;
        printf("%d\n", sum());
#pragma omp taskloop grainsize(8)
        for (long i = LOOP - 1; i >= 0; i -= by) results[i] += i;
        printf("%d\n", sum());
#pragma omp taskloop
        for (unsigned long long i = 3; i < LOOP; i += 3) results[i] += (long)i;
        printf("%d\n", sum());
        long total = 0;
        int part[16] = {1, 2, 3};
#pragma omp taskloop reduction(+ : total) num_tasks(5) firstprivate(part)
        for (int i = 0; i < LOOP; i++) total += i + part[i % 3];
        printf("%ld\n", total);
        large data = {{7}};
#pragma omp taskloop num_tasks(4) firstprivate(data)
        for (int i = 0; i < LOOP; i++) results[i] += data.bytes[0];
        printf("%d\n", sum());
#pragma omp taskloop nogroup num_tasks(3)
        for (int i = 0; i < LOOP; i++) results[i] += 2 * i;
#pragma omp taskwait
        printf("%d\n", sum());
#pragma omp taskloop grainsize(1)
        for (int i = 0; i < MANY; i++) {
#pragma omp atomic
            many++;
        }
        printf("%ld\n", many);
#pragma omp taskloop if (count > 5) num_tasks(3)
        for (int i = 0; i < LOOP; i++) results[i] += i;
        printf("%d\n", sum());
    }
    return 0;
}
