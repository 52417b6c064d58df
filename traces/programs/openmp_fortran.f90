! Fortran's names of the same functions: a loop with a critical section, locks, a barrier, an ordered loop.
program openmp_fortran
    use omp_lib
    implicit none
    integer(omp_lock_kind) :: lock
    integer(omp_nest_lock_kind) :: nest
    integer :: i, total, under_lock, nested, failed, ordered

    total = 0
    under_lock = 0
    nested = 0
    failed = 0
    ordered = 0
    call omp_init_lock(lock)
    call omp_init_nest_lock(nest)
!$omp parallel num_threads(4) private(i)
!$omp do schedule(dynamic)
    do i = 1, 100
!$omp critical (sums)
        total = total + i
!$omp end critical (sums)
    end do
!$omp end do
    do i = 1, 25
        call omp_set_lock(lock)
        under_lock = under_lock + 1
        if (.not. omp_test_lock(lock)) failed = failed + 1
        call omp_unset_lock(lock)
        call omp_set_nest_lock(nest)
        if (omp_test_nest_lock(nest) == 2) nested = nested + 1
        call omp_unset_nest_lock(nest)
        call omp_unset_nest_lock(nest)
    end do
!$omp barrier
!$omp do ordered schedule(static, 1)
    do i = 1, 20
!$omp ordered
        ordered = ordered * 3 + i
        ordered = mod(ordered, 1000)
!$omp end ordered
    end do
!$omp end do
!$omp end parallel
    call omp_destroy_lock(lock)
    call omp_destroy_nest_lock(nest)
    print '(5I6)', total, under_lock, nested, failed, ordered
end program openmp_fortran
