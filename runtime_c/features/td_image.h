/* Images for a model's input, in integers; the twins of tinydeploy/features/image.py. */
#ifndef TD_IMAGE_H
#define TD_IMAGE_H

#include <stdint.h>

/* Rows of `channels` interleaved bytes per pixel, without gaps. At most 16384 pixels a side. */
typedef struct {
    int32_t height;
    int32_t width;
    int32_t channels;
} td_image_size;

/* Bilinear, pixel centres at halves, edges repeated. `to` has the channels of `from`. */
void td_image_resize(const uint8_t *from, td_image_size from_size, uint8_t *to,
                     td_image_size to_size);

/* Every byte through the table of its channel: `tables` is [channels][256]. */
void td_image_normalize(const uint8_t *from, td_image_size size, const int8_t *tables, int8_t *to);

#endif
