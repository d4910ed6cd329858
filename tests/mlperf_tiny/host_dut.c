/* The protocol as a process: commands on stdin, messages on stdout, a model that sums its input.
 * Usage: PROGRAM performance|energy. */
#include <stdio.h>
#include <string.h>

#include "td_mlperf.h"

enum { INPUT_BYTES = 100 };

static int64_t sum;
static uint64_t now;

static void put(void *context, const char *text, size_t size) {
    (void)context;
    (void)fwrite(text, 1u, size, stdout);
    (void)fflush(stdout);
}

static bool load(void *context, const uint8_t *bytes, size_t size) {
    (void)context;
    sum = 0;
    for (size_t i = 0u; i < size; ++i) {
        sum += bytes[i];
    }
    return size == INPUT_BYTES;
}

static void infer(void *context) {
    (void)context;
    now += 1000u;
}

static bool result(void *context, size_t index, int64_t *thousandths) {
    (void)context;
    *thousandths = index == 0u ? sum : -sum;
    return index < 2u;
}

static uint64_t microseconds(void *context) {
    (void)context;
    return now;
}

static void pulse(void *context) {
    (void)context;
}

int main(int argc, char **argv) {
    static uint8_t buffer[INPUT_BYTES];
    const bool energy = argc > 1 && strcmp(argv[1], "energy") == 0;
    const td_mlperf_config config = {
        .mode = energy ? TD_MLPERF_ENERGY : TD_MLPERF_PERFORMANCE,
        .vendor = "host",
        .benchmark = "kws01",
        .buffer = buffer,
        .buffer_bytes = sizeof buffer,
        .write = put,
        .load = load,
        .infer = infer,
        .result = result,
        .microseconds = microseconds,
        .pulse = pulse,
    };
    td_mlperf mlperf;
    int byte = 0;
    td_mlperf_start(&mlperf, &config);
    while ((byte = getchar()) != EOF) {
        const uint8_t received = (uint8_t)byte;
        td_mlperf_receive(&mlperf, &received, 1u);
    }
    return 0;
}
