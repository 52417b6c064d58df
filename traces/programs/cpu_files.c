/* What files say of CPUs agrees with what the calls say, however they are opened. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

int __open_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);

static void show(const char *how, int fd) {
    char text[256] = "";
    ssize_t length = read(fd, text, sizeof text - 1);
    printf("%s %s", how, length > 0 ? text : "nothing\n");
    close(fd);
}

/* Counts the lines that begin so. */
static int count(const char *path, const char *beginning) {
    char line[4096];
    int lines = 0;
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        lines += strncmp(line, beginning, strlen(beginning)) == 0;
    if (file != NULL)
        fclose(file);
    return lines;
}

int main(void) {
    const char *online = "/sys/devices/system/cpu/online";
    show("open", open(online, O_RDONLY));
    show("open64", open64(online, O_RDONLY | O_CLOEXEC));
    show("openat", openat(AT_FDCWD, online, O_RDONLY));
    show("openat64", openat64(-1, online, O_RDONLY));
    /* What the C library's headers make of a call with flags that are not constant. */
    show("checked", __open_2(online, O_RDONLY));
    show("checked at", __openat_2(AT_FDCWD, online, O_RDONLY));
    int cpus = open("/sys/devices/system/cpu", O_RDONLY | O_DIRECTORY);
    show("below", openat(cpus, "online", O_RDONLY));
    char last[64], socket[64];
    snprintf(last, sizeof last, "cpu%d/topology/core_id", get_nprocs() - 1);
    show("last", openat(cpus, last, O_RDONLY));
    snprintf(socket, sizeof socket, "/sys/devices/system/cpu/cpu%d/topology/core_siblings_list", get_nprocs() - 1);
    show("socket", open(socket, O_RDONLY));
    snprintf(last, sizeof last, "/sys/devices/system/cpu/cpu%d", get_nprocs());
    printf("beyond %d\n", access(last, F_OK));
    close(cpus);
    printf("cpuinfo %d stat %d\n", count("/proc/cpuinfo", "processor\t"), count("/proc/stat", "cpu") - 1);
    printf("nprocs %d\n", get_nprocs());

    /* Other files, and other ways to open, are as ever. */
    errno = 0;
    int missing = open("/proc/self/no such file", O_RDONLY);
    printf("missing %d %d\n", missing, errno == ENOENT);
    int created = open("cpu_files.tmp", O_RDWR | O_CREAT | O_EXCL, 0640);
    printf("created %d\n", created > 0 && write(created, "x", 1) == 1);
    close(created);
    unlink("cpu_files.tmp");
    errno = 0;
    FILE *none = fopen("/nowhere/at/all", "r");
    printf("none %d %d\n", none == NULL, errno == ENOENT);

    /* One runs on a CPU that one believes in. */
    unsigned cpu = 12345;
    int got = getcpu(&cpu, NULL);
    printf("here %d %d\n", got == 0 && (int)cpu < get_nprocs(), sched_getcpu() < get_nprocs());
    return 0;
}
