/* What openmp_opens_library opens. */
long sum(int length) {
    long sum = 0;
#pragma omp parallel num_threads(3)
    {
        long own = 0;
#pragma omp for schedule(dynamic, 10)
        for (int i = 0; i < length; i++) own += i;
#pragma omp critical
        sum += own;
    }
    return sum;
}
