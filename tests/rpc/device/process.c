/* The board as a process: its line is standard input and output. An argument makes it end after so
 * many bytes sent. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board.h"

static size_t left = (size_t)-1;

static int send_all(void) {
    uint8_t bytes[4096];
    size_t count;
    while ((count = board_sent(bytes, sizeof bytes)) != 0u) {
        const size_t allowed = count < left ? count : left;
        size_t done = 0;
        while (done < allowed) {
            const ssize_t part = write(1, &bytes[done], allowed - done);
            if (part <= 0) {
                return 1;
            }
            done += (size_t)part;
        }
        left -= allowed;
        if (left == 0u) {
            return 3;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    const board_options options = {0};
    uint8_t bytes[200];
    if (argc > 1) {
        left = (size_t)strtoul(argv[1], NULL, 10);
    }
    board_boot(&options);
    for (;;) {
        const ssize_t count = read(0, bytes, sizeof bytes);
        if (count <= 0) {
            return 0;
        }
        board_receive(bytes, (size_t)count);
        board_poll();
        const int ended = send_all();
        if (ended != 0) {
            return ended;
        }
    }
}
