/* What is done again and again is counted, also around signals whose handler records something. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

static pthread_mutex_t often = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t few[3];
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static sem_t handled;
static volatile int signals;

static void on_alarm(int unused) {
    (void)unused;
    signals++;
    sem_post(&handled);
}

static void *poll_mutex(void *unused) {
    for (int i = 0; i < 30000; i++)
        if (pthread_mutex_trylock(&held) == 0) puts("it was free");
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    pthread_rwlock_t other = PTHREAD_RWLOCK_INITIALIZER;
    pthread_spinlock_t spin;
    struct itimerval every = {{0, 300}, {0, 300}};
    struct itimerval never = {{0, 0}, {0, 0}};
    sem_init(&handled, 0, 0);
    pthread_spin_init(&spin, 0);
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &every, NULL);
    for (int i = 0; i < 1000000; i++) {
        pthread_mutex_lock(&often);
        pthread_mutex_unlock(&often);
    }
    for (int i = 0; i < 100000; i++) {
        pthread_mutex_lock(&few[0]);
        pthread_mutex_unlock(&few[0]);
        pthread_mutex_lock(&few[1]);
        /* Now and then something else happens while it is held. */
        int inside = i % 100 == 99;
        if (inside && pthread_mutex_trylock(&few[2]) == 0) pthread_mutex_unlock(&few[2]);
        pthread_mutex_unlock(&few[1]);
        if (inside) continue;
        pthread_mutex_lock(&few[2]);
        pthread_mutex_unlock(&few[2]);
    }
    for (int i = 0; i < 100000; i++) {
        pthread_rwlock_wrlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
        pthread_rwlock_rdlock(&rwlock);
        if (i % 100 == 99) {
            pthread_rwlock_rdlock(&rwlock);
            pthread_rwlock_unlock(&rwlock);
        }
        pthread_rwlock_unlock(&rwlock);
        pthread_rwlock_rdlock(&other);
        pthread_rwlock_unlock(&other);
    }
    for (int i = 0; i < 1000000; i++) {
        pthread_rwlock_rdlock(&other);
        pthread_rwlock_unlock(&other);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    for (int i = 0; i < 1000; i++) {
        pthread_spin_lock(&spin);
        pthread_spin_unlock(&spin);
    }
    pthread_mutex_lock(&held);
    pthread_create(&thread, NULL, poll_mutex, NULL);
    pthread_join(thread, NULL);
    pthread_mutex_unlock(&held);
    /* As many as signals came. */
    while (sem_trywait(&handled) == 0) signals--;
    printf("%d\n", signals);
    return 0;
}
