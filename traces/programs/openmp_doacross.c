/* Loops whose iterations wait for each other: along a line, across a square, and with more indices than registers, of which
   one is too large for a signed number. */
#include <stdio.h>

enum { LENGTH = 40, SIDE = 12 };

static long line[LENGTH + 1];
static long square[SIDE][SIDE];
static unsigned long long deep[2];
static volatile unsigned long long far = 1ULL << 63;

int main(void) {
    unsigned long long first = far;
#pragma omp parallel num_threads(4)
    {
#pragma omp for ordered(1) schedule(static, 1) nowait
        for (int i = 0; i < LENGTH; i++) {
#pragma omp ordered depend(sink : i - 1)
            line[i + 1] = line[i] + i;
#pragma omp ordered depend(source)
        }
#pragma omp for ordered(2) schedule(dynamic, 1)
        for (int i = 0; i < SIDE; i++) {
            for (int j = 0; j < SIDE; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                square[i][j] = (i ? square[i - 1][j] : 1) + (j ? square[i][j - 1] : 1);
#pragma omp ordered depend(source)
            }
        }
    }
#pragma omp parallel for ordered(7) schedule(static, 1) num_threads(4)
    for (unsigned long long a = first; a < first + 8; a++)
        for (unsigned long long b = 0; b < 1; b++)
            for (unsigned long long c = 0; c < 1; c++)
                for (unsigned long long d = 0; d < 1; d++)
                    for (unsigned long long e = 0; e < 1; e++)
                        for (unsigned long long f = 0; f < 1; f++)
                            for (unsigned long long g = 0; g < 2; g++) {
#pragma omp ordered depend(sink : a - 1, b, c, d, e, f, g)
                                deep[g] = deep[g] * 3 + (a - first) + g;
#pragma omp ordered depend(source)
                            }
    printf("%ld %ld %llu %llu\n", line[LENGTH], square[SIDE - 1][SIDE - 1], deep[0], deep[1]);
    return 0;
}
