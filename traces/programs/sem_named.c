/* A named semaphore opened twice is one object, with the value that it was found with. */
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
    char name[64];
    snprintf(name, sizeof name, "/foretrace-test-%d", (int)getpid());
    sem_t *first = sem_open(name, O_CREAT | O_EXCL, 0600, 2);
    sem_t *second = sem_open(name, 0);
    sem_wait(first);
    sem_wait(second);
    printf("%d\n", sem_trywait(first));
    sem_close(second);
    sem_close(first);
    sem_unlink(name);
    return 0;
}
