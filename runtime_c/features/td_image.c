#include "td_image.h"

#include <stddef.h>

/* Where a pixel of the result lies: `first` and the one after it, weighted in 256ths. */
typedef struct {
    int32_t first;
    int32_t next;
    uint32_t weight;
} place;

static place place_of(int32_t index, int32_t source, int32_t target) {
    const int64_t centre = (((2 * (int64_t)index + 1) * source) << 15) / target - (1 << 15);
    const int64_t last = (int64_t)(source - 1) << 16;
    const int64_t at = centre < 0 ? 0 : (centre > last ? last : centre);
    const int32_t first = (int32_t)(at >> 16);
    const place found = {first, first + 1 < source ? first + 1 : first,
                         (uint32_t)(at >> 8) & 0xffu};
    return found;
}

void td_image_resize(const uint8_t *from, td_image_size from_size, uint8_t *to,
                     td_image_size to_size) {
    const int32_t channels = from_size.channels;
    const int32_t stride = from_size.width * channels;
    for (int32_t y = 0; y < to_size.height; ++y) {
        const place row = place_of(y, from_size.height, to_size.height);
        const uint8_t *const upper = from + (ptrdiff_t)row.first * stride;
        const uint8_t *const lower = from + (ptrdiff_t)row.next * stride;
        for (int32_t x = 0; x < to_size.width; ++x) {
            const place column = place_of(x, from_size.width, to_size.width);
            const int32_t left = column.first * channels;
            const int32_t right = column.next * channels;
            const uint32_t weight = column.weight;
            for (int32_t c = 0; c < channels; ++c) {
                const uint32_t above =
                    upper[left + c] * (256u - weight) + upper[right + c] * weight;
                const uint32_t below =
                    lower[left + c] * (256u - weight) + lower[right + c] * weight;
                const uint32_t sum = above * (256u - row.weight) + below * row.weight;
                *to++ = (uint8_t)((sum + 0x8000u) >> 16);
            }
        }
    }
}

void td_image_normalize(const uint8_t *from, td_image_size size, const int8_t *tables, int8_t *to) {
    const int32_t pixels = size.height * size.width;
    for (int32_t pixel = 0; pixel < pixels; ++pixel) {
        for (int32_t c = 0; c < size.channels; ++c) {
            *to++ = tables[256 * c + *from++];
        }
    }
}
