// Tasks that are made right after a barrier, while others are still on their way back from it and do them there.
#include <stdio.h>

static void spin(void)
{
    volatile int sum = 0;
    for (int i = 0; i < 20000; i++) sum += i;
}

int main(void)
{
    for (int round = 0; round < 20; round++) {
        #pragma omp parallel
        {
            #pragma omp barrier
            #pragma omp single
            {
                for (int i = 0; i < 12; i++) {
                    #pragma omp task
                    spin();
                }
                #pragma omp taskwait
            }
        }
    }
    puts("done");
    return 0;
}
