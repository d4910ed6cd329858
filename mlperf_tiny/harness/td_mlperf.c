/* The protocol; see the header. Texts are those of the benchmark's runner, spelling included. */
#include "td_mlperf.h"

#include <string.h>

enum { DEFAULT_WARM_UPS = 10, BYTES_PER_LINE = 8 };

static const char ready[] = "m-ready\r\n";

void td_mlperf_print(const td_mlperf_config *config, const char *text) {
    size_t size = 0u;
    while (text[size] != '\0') {
        ++size;
    }
    config->write(config->context, text, size);
}

void td_mlperf_print_number(const td_mlperf_config *config, uint64_t value) {
    char digits[20];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + (int)(value % 10u));
        value /= 10u;
    } while (value != 0u);
    config->write(config->context, digits + first, sizeof digits - first);
}

/* A message with a number: "m-lap-us-" 17 "\r\n". */
static void print_with(const td_mlperf_config *config, const char *before, uint64_t value,
                       const char *after) {
    td_mlperf_print(config, before);
    td_mlperf_print_number(config, value);
    td_mlperf_print(config, after);
}

/* A result as printf's %0.3f shows it. */
static void print_thousandths(const td_mlperf_config *config, int64_t value) {
    const uint64_t size = value < 0 ? 0u - (uint64_t)value : (uint64_t)value;
    const uint64_t rest = size % 1000u;
    td_mlperf_print(config, value < 0 ? "-" : "");
    print_with(config, "", size / 1000u, rest < 10u ? ".00" : (rest < 100u ? ".0" : "."));
    td_mlperf_print_number(config, rest);
}

static void print_hex(const td_mlperf_config *config, uint8_t byte) {
    static const char digits[] = "0123456789abcdef";
    const char text[2] = {digits[byte >> 4], digits[byte & 15u]};
    config->write(config->context, text, sizeof text);
}

/* A pulse in energy mode, else the time; the result is that time. */
static uint64_t print_timestamp(const td_mlperf_config *config) {
    if (config->mode == TD_MLPERF_ENERGY) {
        config->pulse(config->context);
        return 0u;
    }
    const uint64_t now = config->microseconds(config->context);
    print_with(config, "m-lap-us-", now, "\r\n");
    return now;
}

static void print_results(const td_mlperf_config *config) {
    int64_t value = 0;
    td_mlperf_print(config, "m-results-[");
    for (size_t index = 0u; config->result(config->context, index, &value); ++index) {
        td_mlperf_print(config, index == 0u ? "" : ",");
        print_thousandths(config, value);
    }
    td_mlperf_print(config, "]\r\n");
}

static bool equal(const char *a, const char *b) {
    while (*a != '\0' && *a == *b) {
        ++a;
        ++b;
    }
    return *a == *b;
}

/* Cuts the next word off: ends it with 0 and moves *rest behind it. Empty at the end. */
static const char *next_word(char **rest) {
    char *word = *rest;
    while (*word == ' ') {
        ++word;
    }
    char *end = word;
    while (*end != '\0' && *end != ' ') {
        ++end;
    }
    *rest = *end == '\0' ? end : end + 1;
    *end = '\0';
    return word;
}

/* A decimal number of up to nine digits, as atoi reads the beginning of a text; -1 for a negative.
 */
static int32_t number_of(const char *text) {
    int32_t value = 0;
    if (*text == '-') {
        return -1;
    }
    for (size_t digits = 0u; digits < 9u && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
        value = value * 10 + (text[digits] - '0');
    }
    return value;
}

/* The value of a hexadecimal digit; -1 where it is none. */
static int32_t digit_of(char digit) {
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

static void load(td_mlperf *mlperf, const char *argument) {
    const td_mlperf_config *const config = mlperf->config;
    const int32_t size = number_of(argument);
    mlperf->expected = 0u;
    mlperf->loaded = 0u;
    if (*argument == '\0') {
        td_mlperf_print(config, "e-[Command 'db load' requires the # of bytes]\r\n");
    } else if (size <= 0) {
        td_mlperf_print(config, "e-[Command 'db load' must be >0 bytes]\r\n");
    } else if ((size_t)size > config->buffer_bytes) {
        print_with(config, "e-[Supplied buffer size ", (uint64_t)size, " exceeds maximum of ");
        print_with(config, "", config->buffer_bytes, "]\r\n");
    } else {
        mlperf->expected = (size_t)size;
        print_with(config, "m-[Expecting ", (uint64_t)size, " bytes]\r\n");
    }
}

static void print_buffer(const td_mlperf *mlperf) {
    const td_mlperf_config *const config = mlperf->config;
    for (size_t i = 0u; i < mlperf->loaded; ++i) {
        td_mlperf_print(config, i % BYTES_PER_LINE == 0u ? "m-buffer-" : "-");
        print_hex(config, config->buffer[i]);
        if (i % BYTES_PER_LINE == BYTES_PER_LINE - 1u || i + 1u == mlperf->loaded) {
            td_mlperf_print(config, "\r\n");
        }
    }
}

/* Bytes in hexadecimal. All digits are checked before any byte is taken. */
static void append(td_mlperf *mlperf, const char *digits) {
    const td_mlperf_config *const config = mlperf->config;
    const size_t count = strlen(digits);
    if (count % 2u != 0u) {
        td_mlperf_print(config, "e-[Insufficent number of hex digits]\r\n");
        return;
    }
    for (size_t i = 0u; i < count; i += 2u) {
        if (digit_of(digits[i]) < 0 || digit_of(digits[i + 1u]) < 0) {
            td_mlperf_print(config, "e-[Invalid hex digit '");
            config->write(config->context, digits + i, 2u);
            td_mlperf_print(config, "']\r\n");
            return;
        }
    }
    if (mlperf->expected == 0u) {
        td_mlperf_print(config, "e-[Command 'db' requires 'db load' first]\r\n");
        return;
    }
    for (size_t i = 0u; i < count && mlperf->loaded < mlperf->expected; i += 2u) {
        const int32_t value = digit_of(digits[i]) * 16 + digit_of(digits[i + 1u]);
        config->buffer[mlperf->loaded++] = (uint8_t)value;
        if (mlperf->loaded == mlperf->expected) {
            td_mlperf_print(config, "m-load-done\r\n");
        }
    }
}

static void data_bytes(td_mlperf *mlperf, char *rest) {
    const char *const word = next_word(&rest);
    if (*word == '\0') {
        td_mlperf_print(mlperf->config, "e-[Command 'db' requires a subcommand]\r\n");
    } else if (equal(word, "load")) {
        load(mlperf, next_word(&rest));
    } else if (equal(word, "print")) {
        print_buffer(mlperf);
    } else {
        append(mlperf, word);
    }
}

static void infer(td_mlperf *mlperf, char *rest) {
    const td_mlperf_config *const config = mlperf->config;
    const char *const runs_text = next_word(&rest);
    const char *const warm_ups_text = next_word(&rest);
    const int32_t runs = *runs_text == '\0' ? 1 : number_of(runs_text);
    const int32_t warm_ups = *warm_ups_text == '\0' ? DEFAULT_WARM_UPS : number_of(warm_ups_text);
    if (runs <= 0) {
        td_mlperf_print(config, "e-[Inference iterations must be >0]\r\n");
        return;
    }
    if (warm_ups < 0) {
        td_mlperf_print(config, "e-[Inference warmup must be >=0]\r\n");
        return;
    }
    if (mlperf->expected == 0u || mlperf->loaded != mlperf->expected ||
        !config->load(config->context, config->buffer, mlperf->loaded)) {
        print_with(config, "e-[Input has ", mlperf->loaded,
                   " bytes, which is not what the model takes]\r\n");
        return;
    }
    print_with(config, "m-warmup-start-", (uint64_t)warm_ups, "\r\n");
    for (int32_t run = 0; run < warm_ups; ++run) {
        config->infer(config->context);
    }
    td_mlperf_print(config, "m-warmup-done\r\n");
    print_with(config, "m-infer-start-", (uint64_t)runs, "\r\n");
    mlperf->laps[0] = print_timestamp(config);
    for (int32_t run = 0; run < runs; ++run) {
        config->infer(config->context);
    }
    mlperf->laps[1] = print_timestamp(config);
    td_mlperf_print(config, "m-infer-done\r\n");
    print_results(config);
}

static void help(const td_mlperf_config *config) {
    td_mlperf_print(config, "help           : these lines\r\n"
                            "name           : the device's name\r\n"
                            "profile        : firmware and benchmark\r\n"
                            "timestamp      : a time or, in energy mode, a pulse\r\n"
                            "db load N      : expect N bytes of input\r\n"
                            "db HH[HH]*     : bytes in hexadecimal\r\n"
                            "db print       : the bytes loaded so far\r\n"
                            "infer N [W=10] : W runs to warm up, N runs\r\n"
                            "results        : the last run's results\r\n"
                            "laps           : the last infer's times again\r\n");
}

static void run_command(td_mlperf *mlperf) {
    const td_mlperf_config *const config = mlperf->config;
    char *rest = mlperf->command;
    const char *const word = next_word(&rest);
    if (equal(word, "name")) {
        td_mlperf_print(config, "m-name-dut-[");
        td_mlperf_print(config, config->vendor);
        td_mlperf_print(config, "]\r\n");
    } else if (equal(word, "timestamp")) {
        (void)print_timestamp(config);
    } else if (equal(word, "profile")) {
        td_mlperf_print(config, "m-profile-[tinydeploy MLPerf Tiny firmware]\r\nm-model-[");
        td_mlperf_print(config, config->benchmark);
        td_mlperf_print(config, "]\r\n");
    } else if (equal(word, "help")) {
        help(config);
    } else if (equal(word, "db")) {
        data_bytes(mlperf, rest);
    } else if (equal(word, "infer")) {
        infer(mlperf, rest);
    } else if (equal(word, "results")) {
        print_results(config);
    } else if (equal(word, "laps")) {
        print_with(config, "m-laps-[", mlperf->laps[0], ",");
        print_with(config, "", mlperf->laps[1], "]\r\n");
    } else if (config->extra == NULL || !config->extra(config->context, word, rest)) {
        td_mlperf_print(config, "e-[Unknown command: ");
        td_mlperf_print(config, word);
        td_mlperf_print(config, "]\r\n");
    }
    td_mlperf_print(config, ready);
}

void td_mlperf_start(td_mlperf *mlperf, const td_mlperf_config *config) {
    mlperf->config = config;
    mlperf->length = 0u;
    mlperf->expected = 0u;
    mlperf->loaded = 0u;
    mlperf->laps[0] = 0u;
    mlperf->laps[1] = 0u;
    td_mlperf_print(config, config->mode == TD_MLPERF_ENERGY ? "m-timestamp-mode-energy\r\n"
                                                             : "m-timestamp-mode-performance\r\n");
    (void)print_timestamp(config);
    td_mlperf_print(config, "m-init-done\r\n");
    td_mlperf_print(config, ready);
}

void td_mlperf_receive(td_mlperf *mlperf, const uint8_t *bytes, size_t size) {
    for (size_t i = 0u; i < size; ++i) {
        const char byte = (char)bytes[i];
        if (byte == '%') {
            mlperf->command[mlperf->length] = '\0';
            mlperf->length = 0u;
            run_command(mlperf);
        } else if (byte != '\0' && byte != '\r' && byte != '\n' &&
                   mlperf->length < TD_MLPERF_COMMAND_BYTES) {
            mlperf->command[mlperf->length++] = byte;
        }
    }
}
