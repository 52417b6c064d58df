/* Takes LD_PRELOAD out of its environment, as careful programs do, and changes the environment while and after it starts others. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <fcntl.h>

static void *start_shell(void *argument) {
    return system("sleep 0.3") == 0 ? argument : NULL;
}

static const char *value(const char *name) {
    const char *found = getenv(name);
    return found != NULL ? found : "lost";
}

int main(void) {
    char name[] = "/tmp/keeps_environment-XXXXXX", text[32] = "";
    char *words[] = {name, NULL};
    pthread_t thread;
    setvbuf(stdout, NULL, _IONBF, 0);
    unsetenv("LD_PRELOAD");
    setenv("BEFORE", "kept", 1);
    pthread_create(&thread, NULL, start_shell, NULL);
    usleep(100000);
    setenv("DURING", "kept", 1);
    pthread_join(thread, NULL);
    printf("%s %s\n", value("BEFORE"), value("DURING"));
    /* A program that is found, and may not be run. */
    int file = mkstemp(name), self = open("/proc/self/exe", O_RDONLY);
    char bytes[4096];
    ssize_t length;
    while ((length = read(self, bytes, sizeof bytes)) > 0)
        if (write(file, bytes, length) != length) return 1;
    close(file);
    execv(name, words);
    printf("%d ", errno == EACCES);
    execl(name, name, "2", "3", "4", "5", "6", "7", "8", (char *)NULL);
    printf("%d\n", errno == EACCES);
    unlink(name);
    setenv("AFTER", "kept", 1);
    printf("%s %s\n", value("AFTER"), value("LD_PRELOAD"));
    printf("%x\n", system("exit 3"));
    printf("%x\n", system("kill -TERM $$"));
    FILE *stream = popen("echo $AFTER; exit 4", "r");
    if (fgets(text, sizeof text, stream) == NULL) return 2;
    printf("%x %s", pclose(stream), text);
    stream = popen("cat; exit 5", "w");
    fputs("written\n", stream);
    printf("%x\n", pclose(stream));
    execl("/bin/echo", "echo", "2", "3", "4", "5", "6", "7", "8", (char *)NULL);
    return 3;
}
