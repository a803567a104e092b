/* A client of the card in plain C, as small as can be: what it does is its first argument, what it found it prints. */

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* driver-ioctl-4.23.md 2 */
#define QUERY_DEVICE_PROPERTIES 0x40176701u
#define QUERY_DRIVER_INFO 0x400C6702u
#define ENABLE_CHANNELS 0x800D7600u
#define DISABLE_CHANNELS 0x800C7601u
#define INTERRUPTS_WAIT 0xC12D7602u
#define BUFFER_MAP 0xC0287604u
#define BUFFER_UNMAP 0x80087605u
#define DESC_LIST_CREATE 0xC01B7607u
#define LOW_MEMORY_ALLOC 0xC010760Au
#define MARK_AS_IN_USE 0x4001760Cu
#define LAUNCH_TRANSFER 0x8099760Fu
#define FW_CONTROL 0xC5F86E00u
#define READ_NOTIFICATION 0x45E46E01u
#define DISABLE_NOTIFICATION 0x00006E02u
#define READ_LOG 0xC2146E03u

static int node(void) { return open("/dev/hailo0", O_RDWR | O_CLOEXEC); }

/* the errno of a call, 0 where it succeeds */
static int call(int fd, unsigned long number, void *argument) {
    return ioctl(fd, number, argument) < 0 ? errno : 0;
}

static void print_file(const char *path) {
    char text[64] = {0};
    int fd = open(path, 0);
    ssize_t count = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    printf("%s %s %zd\n", path + strlen("/sys/class/hailo_chardev/"), count < 0 ? strerror(errno) : text, count);
    if (fd >= 0) close(fd);
}

static void identify(void) {
    DIR *folder = opendir("/sys/class/hailo_chardev");
    struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.') printf("device %s\n", entry->d_name);
    if (folder) closedir(folder);
    print_file("/sys/class/hailo_chardev/hailo0/board_location");
    print_file("/sys/class/hailo_chardev/hailo0/accelerator_type");
    print_file("/sys/class/hailo_chardev/hailo0/nothing");
    int fd = node();
    uint32_t version[3] = {0};
    unsigned char properties[23] = {0}, control[1528] = {0};
    printf("info %d", call(fd, QUERY_DRIVER_INFO, version));
    printf(" %u.%u.%u\n", version[0], version[1], version[2]);
    printf("properties %d", call(fd, QUERY_DEVICE_PROPERTIES, properties));
    printf(" %u\n", properties[0] | properties[1] << 8);
    control[16] = 20;
    control[23] = 2; /* protocol version, big-endian; opcode 0 */
    printf("control %d", call(fd, FW_CONTROL, control));
    printf(" %u bytes\n", control[16] | control[17] << 8);
}

static void *read_notification(void *argument) {
    static unsigned char notification[1508];
    printf("notification %d\n", call(*(int *)argument, READ_NOTIFICATION, notification));
    return NULL;
}

static void *wait_interrupts(void *argument) {
    static unsigned char wait[301];
    wait[0] = 4; /* channel 2 */
    printf("wait %d\n", call(*(int *)argument, INTERRUPTS_WAIT, wait));
    return NULL;
}

static void threads(void) {
    int fd = node();
    pthread_t reader, waiter;
    uint32_t channels[4] = {4, 0, 0, 0};
    printf("enable %d\n", call(fd, ENABLE_CHANNELS, channels));
    printf("again %d\n", call(fd, ENABLE_CHANNELS, channels));
    fflush(stdout);
    pthread_create(&reader, NULL, read_notification, &fd);
    pthread_create(&waiter, NULL, wait_interrupts, &fd);
    usleep(100000);
    call(fd, DISABLE_CHANNELS, channels);
    pthread_join(waiter, NULL);
    ioctl(fd, DISABLE_NOTIFICATION);
    pthread_join(reader, NULL);
}

static void forked(void) {
    int fd = node();
    unsigned char in_use = 9, other = 9;
    printf("mark %d", call(fd, MARK_AS_IN_USE, &in_use));
    printf(" %d\n", in_use);
    fflush(stdout);
    if (!fork()) {
        unsigned char notification[1508] = {0};
        int copy = dup(fd), second = node();
        close(fd);
        printf("child %d", call(copy, MARK_AS_IN_USE, &in_use));
        printf(" %d\n", in_use);
        printf("child second %d", call(second, MARK_AS_IN_USE, &other));
        printf(" %d\n", other);
        printf("child notification %d\n", call(copy, READ_NOTIFICATION, notification));
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
    printf("parent %d", call(fd, MARK_AS_IN_USE, &in_use));
    printf(" %d\n", in_use);
}

static void hold(const char *ready) {
    int fd = node();
    unsigned char in_use = 9;
    uint32_t channels[4] = {4, 0, 0, 0};
    pthread_t reader, waiter;
    call(fd, MARK_AS_IN_USE, &in_use);
    call(fd, ENABLE_CHANNELS, channels);
    pthread_create(&reader, NULL, read_notification, &fd);
    pthread_create(&waiter, NULL, wait_interrupts, &fd);
    usleep(50000);
    close(open(ready, O_CREAT | O_WRONLY, 0600));
    pause();
}

static void claim(int fd) {
    unsigned char in_use = 9;
    int error = call(fd, MARK_AS_IN_USE, &in_use);
    printf("claim %d %d\n", error, in_use);
}

static void opens(int count) {
    int failed = 0;
    for (int at = 0; at < count; at++) {
        int fd = node();
        unsigned char in_use = 9;
        failed += fd < 0 || call(fd, MARK_AS_IN_USE, &in_use) || in_use;
        close(fd);
    }
    printf("failed %d\n", failed);
}

/* errno of every call whose argument is nowhere, and of values that there are not */
static void bad(void) {
    int fd = node();
    void *nowhere = (void *)8;
    uint64_t handle = 77;
    unsigned char launch[153] = {0};
    printf("null %d %d %d %d %d %d %d\n", call(fd, QUERY_DRIVER_INFO, nowhere), call(fd, ENABLE_CHANNELS, nowhere),
           call(fd, FW_CONTROL, nowhere), call(fd, BUFFER_MAP, nowhere), call(fd, READ_LOG, nowhere),
           call(fd, LAUNCH_TRANSFER, nowhere), call(fd, MARK_AS_IN_USE, nowhere));
    struct {
        uint64_t address, size;
        int32_t direction, type;
        uint64_t allocated, mapped;
    } __attribute__((packed)) map = {8, 4096, 1, 0, ~0ull, 0};
    printf("map %d", call(fd, BUFFER_MAP, &map));
    map.address = (uint64_t)(uintptr_t)launch & ~4095ull, map.direction = 3;
    printf(" %d", call(fd, BUFFER_MAP, &map));
    map.direction = 1, map.type = 1;
    printf(" %d\n", call(fd, BUFFER_MAP, &map));
    printf("unmap %d\n", call(fd, BUFFER_UNMAP, &handle));
    printf("launch %d\n", call(fd, LAUNCH_TRANSFER, launch));
    printf("foreign %d\n", call(0, MARK_AS_IN_USE, launch));
    printf("unknown %d\n", call(fd, 0x00006E05u, launch));
}

static void low_memory(void) {
    int fd = node();
    uint64_t fields[2] = {3 * 4096, 0}, second[2] = {4096, 0};
    printf("alloc %d", call(fd, LOW_MEMORY_ALLOC, fields));
    printf(" %d\n", call(fd, LOW_MEMORY_ALLOC, second));
    unsigned char *a = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)fields[1]);
    unsigned char *b = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)second[1]);
    if (a == MAP_FAILED || b == MAP_FAILED) {
        printf("mmap %s\n", strerror(errno));
        return;
    }
    memset(a, 1, 3 * 4096);
    memset(b, 2, 4096);
    printf("bytes %d %d\n", a[3 * 4096 - 1], b[0]);
}

/* errno of a call on a number that has lost its meaning, while another descriptor of the same open is left */
static void descriptors(const char *self) {
    unsigned char in_use, byte[4096];
    struct {
        uint64_t address, size;
        int32_t direction, type;
        uint64_t allocated, mapped;
    } __attribute__((packed)) map = {(uint64_t)(uintptr_t)byte, 1, 1, 0, ~0ull, 0};
    int fd = node(), copy = dup(fd), nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    printf("first %d %d\n", call(fd, MARK_AS_IN_USE, &in_use), call(copy, MARK_AS_IN_USE, &in_use));
    close(fd);
    printf("closed %d %d\n", call(fd, MARK_AS_IN_USE, &in_use), call(copy, MARK_AS_IN_USE, &in_use));
    fd = node(), copy = dup(fd);
    dup2(nothing, fd);
    printf("replaced %d %d\n", call(fd, MARK_AS_IN_USE, &in_use), call(copy, MARK_AS_IN_USE, &in_use));
    fd = node(), copy = dup(fd);
    dup3(nothing, fd, O_CLOEXEC);
    printf("replaced %d %d\n", call(fd, MARK_AS_IN_USE, &in_use), call(copy, MARK_AS_IN_USE, &in_use));
    fd = node(), copy = dup(fd);
    close_range(fd, fd, 0);
    printf("closed %d %d\n", call(fd, MARK_AS_IN_USE, &in_use), call(copy, MARK_AS_IN_USE, &in_use));
    int one = node(), other = node();
    copy = dup(one);
    printf("map %d", call(one, BUFFER_MAP, &map));
    dup2(other, one);
    printf(" %d %d\n", call(one, BUFFER_UNMAP, &map.mapped), call(copy, BUFFER_UNMAP, &map.mapped));
    char number[12];
    fd = node();
    snprintf(number, sizeof number, "%d", fd);
    fcntl(dup(fd), F_SETFD, 0);
    if (!fork()) execl(self, self, "claim", number, (char *)NULL);
    wait(NULL);
    call(fd, MARK_AS_IN_USE, &in_use);
    execl(self, self, "claim", number, (char *)NULL);
}

/* an empty round trip: so many calls that ask for next to nothing; microseconds of each */
static void rounds(int count) {
    int fd = node();
    unsigned char in_use;
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int at = 0; at < count; at++) ioctl(fd, MARK_AS_IN_USE, &in_use);
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("%.3f\n", ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / 1e3 / count);
}

/* opens of a file that is none of the card's, by the flags that are looked at and by those that are not */
static void foreign(int count) {
    struct timespec from, to;
    const int flags[3] = {O_RDONLY | O_CLOEXEC, O_RDONLY, O_RDWR};
    for (int kind = 0; kind < 3; kind++) {
        clock_gettime(CLOCK_MONOTONIC, &from);
        for (int at = 0; at < count; at++) close(open("/dev/null", flags[kind]));
        clock_gettime(CLOCK_MONOTONIC, &to);
        printf("%.3f ", ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / 1e3 / count);
    }
    printf("\n");
}

struct launch {
    uint8_t engine, channel;
    uint64_t list;
    uint32_t start;
    uint8_t bind, count;
    struct {
        int32_t type;
        uint64_t address;
        uint32_t size;
    } __attribute__((packed)) buffers[8];
    int32_t first, last;
    uint8_t debug;
} __attribute__((packed));

/* Frames of a network that whoever started this program has enabled on the inherited descriptor: two launches and a wait
   each. Arguments: descriptor, frames, and of input and output: channel, list, bytes, descriptors of a frame and of the
   list. Prints frames a second. */
static void frames(char **arguments) {
    int fd = atoi(arguments[2]), wanted = atoi(arguments[3]);
    struct launch launch[2] = {0};
    uint32_t step[2], length[2], bitmap = 0;
    for (int side = 0; side < 2; side++) {
        char **of = arguments + 4 + 5 * side;
        launch[side].channel = atoi(of[0]);
        launch[side].list = strtoull(of[1], NULL, 10);
        step[side] = atoi(of[3]), length[side] = atoi(of[4]);
        uint64_t size = atoi(of[2]);
        void *buffer = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(buffer, 7, size);
        struct {
            uint64_t address, size;
            int32_t direction, type;
            uint64_t allocated, mapped;
        } __attribute__((packed)) map = {(uint64_t)(uintptr_t)buffer, size, side + 1, 0, ~0ull, 0};
        if (call(fd, BUFFER_MAP, &map)) exit(4);
        launch[side].bind = 1, launch[side].count = 1, launch[side].last = 2;
        launch[side].buffers[0].address = map.address, launch[side].buffers[0].size = size;
        bitmap |= 1u << launch[side].channel;
    }
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int at = 0; at < wanted; at++) {
        for (int side = 0; side < 2; side++) {
            if (ioctl(fd, LAUNCH_TRANSFER, &launch[side]) < 0) exit(5);
            launch[side].start = (launch[side].start + step[side]) % length[side];
        }
        for (int done = 0; done < 2;) {
            unsigned char wait[301] = {0};
            memcpy(wait, &bitmap, 4);
            if (call(fd, INTERRUPTS_WAIT, wait)) exit(6);
            for (int entry = 0; entry < wait[12]; entry++) done += wait[13 + 3 * entry + 2];
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("%.1f\n", wanted / ((to.tv_sec - from.tv_sec) + (to.tv_nsec - from.tv_nsec) / 1e9));
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!strcmp(what, "identify")) identify();
    else if (!strcmp(what, "threads")) threads();
    else if (!strcmp(what, "fork")) forked();
    else if (!strcmp(what, "hold")) hold(arguments[2]);
    else if (!strcmp(what, "claim")) claim(count > 2 ? atoi(arguments[2]) : node());
    else if (!strcmp(what, "descriptors")) descriptors(arguments[0]);
    else if (!strcmp(what, "opens")) opens(atoi(arguments[2]));
    else if (!strcmp(what, "bad")) bad();
    else if (!strcmp(what, "low-memory")) low_memory();
    else if (!strcmp(what, "rounds")) rounds(atoi(arguments[2]));
    else if (!strcmp(what, "frames")) frames(arguments);
    else if (!strcmp(what, "foreign")) foreign(atoi(arguments[2]));
    else return 9;
    return 0;
}
