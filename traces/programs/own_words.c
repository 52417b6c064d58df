/* A program with a library whose functions have names of the C library's, and other arguments. */
#ifdef LIBRARY
double wait(double a, int b, int c, double d) { return a + b + c + d; }
const char *send(const char *first, int second, int third, int fourth, const char *fifth) {
    return second + third + fourth == 9 ? fifth : first;
}
char *sleep(char *text, char *other) { return other == 0 ? text : other; }
#else
#include <pthread.h>
#include <stdio.h>

double wait(double a, int b, int c, double d);
const char *send(const char *first, int second, int third, int fourth, const char *fifth);
char *sleep(char *text, char *other);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    char text[] = "text", other[] = "other";
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    printf("%g %s %s\n", wait(0.5, 1, 2, 0.25), send("first", 2, 3, 4, "fifth"), sleep(text, other));
    return 0;
}
#endif
