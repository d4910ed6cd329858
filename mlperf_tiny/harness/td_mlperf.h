/* The device side of MLPerf Tiny's serial protocol: commands in, messages out, no hardware.
 *
 * A command is text that ends with '%'; every answer ends with the line "m-ready". Bytes may come
 * in pieces of any size. What is too long is cut, what is damaged is answered, nothing is written
 * outside the buffers of the configuration. */
#ifndef TD_MLPERF_H
#define TD_MLPERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest command, without its end. */
#define TD_MLPERF_COMMAND_BYTES 80u

typedef enum {
    TD_MLPERF_PERFORMANCE = 0, /* accuracy too: timestamps are printed in microseconds */
    TD_MLPERF_ENERGY = 1       /* timestamps are pulses of a pin */
} td_mlperf_mode;

/* What the protocol asks of the device; `context` is the first argument of every function. */
typedef struct {
    void *context;
    td_mlperf_mode mode;
    const char *vendor;    /* answer to "name" */
    const char *benchmark; /* answer to "profile": kws01, vww01, ... */
    uint8_t *buffer;       /* where "db" collects the input */
    size_t buffer_bytes;

    /* Sends all bytes. */
    void (*write)(void *context, const char *text, size_t size);
    /* Takes the collected input; false where its size is not the model's. */
    bool (*load)(void *context, const uint8_t *bytes, size_t size);
    /* Runs the model once on what was loaded. */
    void (*infer)(void *context);
    /* Result number `index` in thousandths, rounded; false behind the last one. */
    bool (*result)(void *context, size_t index, int64_t *thousandths);
    /* Microseconds since boot; used in performance mode. */
    uint64_t (*microseconds)(void *context);
    /* A low pulse on the timing pin; used in energy mode. */
    void (*pulse)(void *context);
    /* A command of one benchmark alone; false where it is not known. May be NULL. */
    bool (*extra)(void *context, const char *command, const char *argument);
} td_mlperf_config;

typedef struct {
    const td_mlperf_config *config;
    char command[TD_MLPERF_COMMAND_BYTES + 1u];
    size_t length;
    size_t expected; /* bytes announced by "db load"; 0: none */
    size_t loaded;
    uint64_t laps[2]; /* of the last "infer", in microseconds */
} td_mlperf;

/* Starts the protocol and greets. `config` must outlive it. */
void td_mlperf_start(td_mlperf *mlperf, const td_mlperf_config *config);

/* Takes received bytes in order; runs each command as it ends. */
void td_mlperf_receive(td_mlperf *mlperf, const uint8_t *bytes, size_t size);

/* For `extra`: messages. Numbers are printed without the C library. */
void td_mlperf_print(const td_mlperf_config *config, const char *text);
void td_mlperf_print_number(const td_mlperf_config *config, uint64_t value);

#endif
