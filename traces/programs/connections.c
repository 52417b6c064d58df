// Clients that ask a server, through connections within one host.
//
//   connections tcp CLIENTS N       threads ask a thread, by the network; the server has one thread
//   connections local CLIENTS N     the same through sockets of the system, by a name that is no file's
//   connections ready CLIENTS N     as tcp, where the server waits for all files at once (epoll)
//   connections processes CLIENTS N a child is the server, at a file
//   connections late CLIENTS N      as processes, where the child listens when its clients have tried in vain
//   connections outside CLIENTS N   as tcp, with a child that nobody records for the clients
//   connections ask CLIENTS N PORT  what that child becomes
//   connections refused             nobody is there
//
// Each client asks ten times, and works as long for each question as the server for the answer.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 10, MOST = 16, QUESTION = 32 };

static long amount;
static int listening, family, is_file, is_late;
static struct sockaddr_in port;
static struct sockaddr_un name;

static void work(long times) {
    for (volatile long i = 0; i < times; i++) {
    }
}

static void must(int ok) {
    if (!ok) {
        perror("connections");
        abort();
    }
}

static void attach(int (*how)(int, const struct sockaddr *, socklen_t), int fd) {
    if (family == AF_INET)
        must(how(fd, (struct sockaddr *)&port, sizeof port) == 0);
    else
        must(how(fd, (struct sockaddr *)&name, sizeof name) == 0);
}

static void name_file(void) {
    name.sun_family = AF_UNIX;
    snprintf(name.sun_path + !is_file, sizeof name.sun_path - 1, "connections.%d", (int)getpid());
}

static void listen_at(void) {
    must((listening = socket(family, SOCK_STREAM, 0)) >= 0);
    attach(bind, listening);
    must(listen(listening, MOST) == 0);
    socklen_t bytes = sizeof port;
    if (family == AF_INET)
        must(getsockname(listening, (struct sockaddr *)&port, &bytes) == 0);
}

static void listen_here(void) {
    port.sin_family = AF_INET;
    port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    name_file();
    listen_at();
}

static void whole(ssize_t (*how)(int, char *, size_t), int fd, char *bytes) {
    for (size_t done = 0; done < QUESTION;) {
        ssize_t moved = how(fd, bytes + done, QUESTION - done);
        must(moved > 0);
        done += moved;
    }
}

static ssize_t get(int fd, char *bytes, size_t count) {
    return recv(fd, bytes, count, 0);
}

static ssize_t put(int fd, char *bytes, size_t count) {
    return write(fd, bytes, count);
}

static void *ask(void *nothing) {
    char bytes[QUESTION] = {0};
    int fd = socket(family, SOCK_STREAM, 0);
    must(fd >= 0);
    while (is_late && connect(fd, (struct sockaddr *)&name, sizeof name) != 0)
        usleep(1000);
    if (!is_late)
        attach(connect, fd);
    for (int round = 0; round < ROUNDS; round++) {
        work(amount);
        whole(put, fd, bytes);
        whole(get, fd, bytes);
    }
    close(fd);
    return nothing;
}

static void answer(int fd) {
    char bytes[QUESTION];
    whole(get, fd, bytes);
    work(amount);
    whole(put, fd, bytes);
}

static void *serve(void *count) {
    int clients = *(int *)count, fds[MOST];
    struct pollfd files[MOST];
    for (int i = 0; i < clients; i++) {
        must((fds[i] = accept(listening, 0, 0)) >= 0);
        files[i] = (struct pollfd){fds[i], POLLIN, 0};
    }
    for (int left = clients * ROUNDS; left > 0;) {
        must(poll(files, clients, -1) > 0);
        for (int i = 0; i < clients; i++) {
            if ((files[i].revents & POLLIN) == 0)
                continue;
            char byte;
            if (recv(fds[i], &byte, 1, MSG_PEEK) == 0) {
                files[i].fd = -1;
                continue;
            }
            answer(fds[i]);
            left--;
        }
    }
    return 0;
}

static void *serve_ready(void *count) {
    int left = *(int *)count * ROUNDS, files = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = listening}};
    must(files >= 0 && epoll_ctl(files, EPOLL_CTL_ADD, listening, &event) == 0);
    while (left > 0) {
        must(epoll_wait(files, &event, 1, -1) == 1);
        if (event.data.fd == listening) {
            event.events = EPOLLIN;
            must((event.data.fd = accept4(listening, 0, 0, SOCK_CLOEXEC)) >= 0);
            must(epoll_ctl(files, EPOLL_CTL_ADD, event.data.fd, &event) == 0);
            continue;
        }
        char byte;
        if (recv(event.data.fd, &byte, 1, MSG_PEEK) == 0) {
            close(event.data.fd);
            continue;
        }
        answer(event.data.fd);
        left--;
    }
    return 0;
}

static void ask_nobody(void) {
    family = AF_INET;
    listen_here();
    // Nobody listens any more, and the port stays ours, or another program may get it.
    must(shutdown(listening, SHUT_RDWR) == 0);
    int fd = socket(family, SOCK_STREAM, 0);
    must(connect(fd, (struct sockaddr *)&port, sizeof port) == -1);
    printf("refused: %d\n", errno == ECONNREFUSED);
    must(connect(fd, 0, 0) == -1);
    printf("without an address: %d\n", errno != 0);
    family = AF_UNIX;
    int other = socket(family, SOCK_STREAM, 0);
    name.sun_family = AF_UNIX;
    strcpy(name.sun_path, "nobody");
    must(connect(other, (struct sockaddr *)&name, sizeof name) == -1);
    printf("no such file: %d\n", errno == ENOENT);
}

static void ask_all(int clients) {
    pthread_t threads[MOST];
    for (int i = 0; i < clients; i++)
        pthread_create(&threads[i], 0, ask, 0);
    for (int i = 0; i < clients; i++)
        pthread_join(threads[i], 0);
}

static void ask_from_outside(char **arguments) {
    char number[16], *nothing[] = {0};
    snprintf(number, sizeof number, "%d", ntohs(port.sin_port));
    char *asking[] = {arguments[0], "ask", arguments[2], arguments[3], number, 0};
    // Without an environment, and past the C library's functions, so that nothing is preloaded.
    syscall(SYS_execve, "/proc/self/exe", asking, nothing);
    _exit(1);
}

int main(int count, char **arguments) {
    must(count > 1);
    const char *how = arguments[1];
    if (strcmp(how, "refused") == 0) {
        ask_nobody();
        return 0;
    }
    must(count >= 4);
    int clients = atoi(arguments[2]);
    must(clients <= MOST);
    amount = atol(arguments[3]);
    is_late = strcmp(how, "late") == 0;
    int forks = is_file = is_late || strcmp(how, "processes") == 0;
    family = forks || strcmp(how, "local") == 0 ? AF_UNIX : AF_INET;
    if (strcmp(how, "ask") == 0) {
        port.sin_family = AF_INET;
        port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        port.sin_port = htons(atoi(arguments[4]));
        ask_all(clients);
        return 0;
    }
    int status = 0;
    if (is_late)
        name_file();
    else
        listen_here();
    if (strcmp(how, "outside") == 0) {
        if (fork() == 0)
            ask_from_outside(arguments);
        serve(&clients);
        must(wait(&status) > 0 && status == 0);
    } else if (forks) {
        if (fork() == 0) {
            if (is_late) {
                // The clients try in vain until then.
                usleep(20000);
                listen_at();
            }
            serve(&clients);
            _exit(0);
        }
        ask_all(clients);
        must(wait(&status) > 0 && status == 0);
    } else {
        pthread_t server;
        pthread_create(&server, 0, strcmp(how, "ready") == 0 ? serve_ready : serve, &clients);
        ask_all(clients);
        pthread_join(server, 0);
    }
    if (is_file)
        unlink(name.sun_path);
    puts("answered");
}
