// Calls that are seldom made: a hook before the C library knows the environment, a flush of all streams that has to wait, and a mutex that lends a
// priority which its owner may not have.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t early = PTHREAD_MUTEX_INITIALIZER;

static void before_all(void)
{
    pthread_mutex_lock(&early);
    pthread_mutex_unlock(&early);
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = before_all;

static void *drain(void *pipe)
{
    static char buffer[4096];
    long all = 0, got;
    usleep(20000);
    while ((got = read(*(int *)pipe, buffer, sizeof buffer)) > 0) all += got;
    return (void *)all;
}

int main(void)
{
    int ends[2];
    static char text[300000], room[1 << 20];
    memset(text, 'x', sizeof text);
    if (pipe(ends)) return 1;
    FILE *stream = fdopen(ends[1], "w");
    setvbuf(stream, room, _IOFBF, sizeof room);
    fwrite(text, 1, sizeof text, stream);
    pthread_t reader;
    pthread_create(&reader, NULL, drain, &ends[0]);
    int flushed = fflush(NULL);
    fclose(stream);
    void *all;
    pthread_join(reader, &all);
    printf("flushed %d, read %ld\n", flushed, (long)all);

    pthread_mutexattr_t attributes;
    pthread_mutex_t lends;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_PROTECT);
    pthread_mutexattr_setprioceiling(&attributes, 1);
    pthread_mutex_init(&lends, &attributes);
    int locked[2];
    for (int i = 0; i < 2; i++) {
        locked[i] = pthread_mutex_lock(&lends);
        if (locked[i] == 0) pthread_mutex_unlock(&lends);
    }
    printf("locked %d %d\n", locked[0], locked[1]);
    return 0;
}
