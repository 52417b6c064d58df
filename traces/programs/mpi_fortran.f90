! A ring of ranks, with a receive from any source, in Fortran.
program ring
  use mpi
  implicit none
  integer :: rank, ranks, error, value, total
  integer :: status(MPI_STATUS_SIZE)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  value = rank
  if (rank == 0) then
    call MPI_Send(value, 1, MPI_INTEGER, 1, 5, MPI_COMM_WORLD, error)
    call MPI_Recv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, error)
    if (status(MPI_SOURCE) /= ranks - 1) stop 2
  else
    call MPI_Recv(value, 1, MPI_INTEGER, rank - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call MPI_Send(value, 1, MPI_INTEGER, mod(rank + 1, ranks), 5, MPI_COMM_WORLD, error)
  end if
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0) print *, total
  call MPI_Finalize(error)
end program ring
