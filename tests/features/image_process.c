/* HEIGHT WIDTH CHANNELS TO_HEIGHT TO_WIDTH: tables and pixels on stdin, resized pixels and steps on
 * stdout. */
#include <stdio.h>
#include <stdlib.h>

#include "td_image.h"

static size_t bytes_of(td_image_size size) {
    return (size_t)size.height * (size_t)size.width * (size_t)size.channels;
}

int main(int argc, char **argv) {
    int32_t number[5] = {0};
    for (int i = 0; i < 5 && i + 1 < argc; ++i) {
        number[i] = (int32_t)strtol(argv[i + 1], NULL, 10);
    }
    const td_image_size from_size = {number[0], number[1], number[2]};
    const td_image_size to_size = {number[3], number[4], number[2]};
    const size_t table_bytes = 256u * (size_t)from_size.channels;
    int8_t *const tables = (int8_t *)malloc(table_bytes);
    uint8_t *const from = (uint8_t *)malloc(bytes_of(from_size));
    uint8_t *const to = (uint8_t *)malloc(bytes_of(to_size));
    int8_t *const steps = (int8_t *)malloc(bytes_of(to_size));
    if (tables == NULL || from == NULL || to == NULL || steps == NULL ||
        fread(tables, 1u, table_bytes, stdin) != table_bytes ||
        fread(from, 1u, bytes_of(from_size), stdin) != bytes_of(from_size)) {
        return EXIT_FAILURE;
    }
    td_image_resize(from, from_size, to, to_size);
    td_image_normalize(to, to_size, tables, steps);
    (void)fwrite(to, 1u, bytes_of(to_size), stdout);
    (void)fwrite(steps, 1u, bytes_of(to_size), stdout);
    free(tables);
    free(from);
    free(to);
    free(steps);
    return EXIT_SUCCESS;
}
