/* Critical sections: with a name, without one, and a long double, which no instruction adds to atomically. */
#include <stdio.h>

enum { ROUNDS = 100 };

int main(void) {
    long named = 0, unnamed = 0;
    long double atomic = 0;
#pragma omp parallel num_threads(4)
    for (int i = 0; i < ROUNDS; i++) {
#pragma omp critical(name)
        named++;
#pragma omp critical
        unnamed++;
#pragma omp atomic
        atomic += 1;
    }
    printf("%ld %ld %.0Lf\n", named, unnamed, atomic);
    return 0;
}
