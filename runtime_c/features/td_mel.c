/* The C twin of tinydeploy/features/integer.py. */
#include "td_mel.h"

enum { FRAME_BITS = 19, POWER_SHIFT = 12, OUTPUT_SHIFT = 36 };

#define LOG2_OF_NOTHING (-(64 * 65536))

static int32_t bits_of(uint64_t value) {
    int32_t bits = 0;
    while (value >= 256u) {
        value >>= 8;
        bits += 8;
    }
    while (value != 0u) {
        value >>= 1;
        ++bits;
    }
    return bits;
}

static int32_t rounded(int64_t product) {
    return (int32_t)((product + ((int64_t)1 << 29)) >> 30);
}

/* Emphasized, windowed samples with a common exponent, zeros behind them; the result is the right
 * shift that made them so. */
static int32_t window_frame(const td_mel *mel, const int16_t *samples, int16_t before,
                            int32_t *values) {
    int32_t previous = before;
    uint32_t peak = 0u;
    for (int32_t n = 0; n < mel->window; ++n) {
        const int32_t emphasized = 32 * samples[n] - mel->preemphasis * previous;
        previous = samples[n];
        values[n] = (int32_t)(((int64_t)emphasized * mel->shape[n] + 32) >> 6);
        const uint32_t size = values[n] < 0 ? 0u - (uint32_t)values[n] : (uint32_t)values[n];
        peak = size > peak ? size : peak;
    }
    const int32_t shift = bits_of(peak) - FRAME_BITS;
    for (int32_t n = 0; n < mel->window; ++n) {
        if (shift > 0) {
            values[n] = (values[n] + ((int32_t)1 << (shift - 1))) >> shift;
        } else {
            values[n] = (int32_t)((uint32_t)values[n] << -shift);
        }
    }
    for (int32_t n = mel->window; n < mel->fft; ++n) {
        values[n] = 0;
    }
    return shift;
}

/* Complex numbers [points][re, im] in bit-reversed order. */
static void reverse_order(int32_t *z, int32_t points) {
    int32_t mirror = 0;
    for (int32_t index = 1; index < points; ++index) {
        int32_t bit = points / 2;
        while ((mirror & bit) != 0) {
            mirror ^= bit;
            bit /= 2;
        }
        mirror |= bit;
        if (index < mirror) {
            for (int32_t part = 0; part < 2; ++part) {
                const int32_t kept = z[2 * index + part];
                z[2 * index + part] = z[2 * mirror + part];
                z[2 * mirror + part] = kept;
            }
        }
    }
}

/* Radix 2, decimation in time, in place; the twiddles are those of twice the length. */
static void complex_fft(const td_mel *mel, int32_t *z) {
    const int32_t points = mel->fft / 2;
    reverse_order(z, points);
    for (int32_t size = 2; size <= points; size *= 2) {
        const int32_t half = size / 2;
        const int32_t stride = 2 * points / size;
        for (int32_t j = 0; j < half; ++j) {
            const int64_t cosine = mel->twiddles[2 * j * stride];
            const int64_t sine = mel->twiddles[2 * j * stride + 1];
            for (int32_t start = j; start < points; start += size) {
                int32_t *const a = z + 2 * start;
                int32_t *const b = a + size;
                const int32_t re = rounded(b[0] * cosine + b[1] * sine);
                const int32_t im = rounded(b[1] * cosine - b[0] * sine);
                b[0] = a[0] - re;
                b[1] = a[1] - im;
                a[0] += re;
                a[1] += im;
            }
        }
    }
}

/* Four times the squared magnitude of bin k of the real signal whose even and odd samples are z. */
static uint64_t power_at(const td_mel *mel, const int32_t *z, int32_t k) {
    const int32_t half = mel->fft / 2;
    const int32_t *const a = z + 2 * (k % half);
    const int32_t *const b = z + 2 * ((half - k) % half);
    const int64_t odd_re = (int64_t)a[0] - b[0];
    const int64_t odd_im = (int64_t)a[1] + b[1];
    const int64_t cosine = k < half ? mel->twiddles[2 * k] : -((int64_t)1 << 30);
    const int64_t sine = k < half ? mel->twiddles[2 * k + 1] : 0;
    const int64_t re = (int64_t)a[0] + b[0] + rounded(odd_im * cosine - odd_re * sine);
    const int64_t im = (int64_t)a[1] - b[1] - rounded(odd_re * cosine + odd_im * sine);
    return (uint64_t)(re * re) + (uint64_t)(im * im);
}

static uint64_t square_root(uint64_t value) {
    uint64_t root = 0u;
    for (uint64_t bit = (uint64_t)1 << 31; bit != 0u; bit >>= 1) {
        const uint64_t more = root | bit;
        root = more * more <= value ? more : root;
    }
    return root;
}

static int32_t log2_of(const td_mel *mel, uint64_t value) {
    const int32_t whole = bits_of(value) - 1;
    const uint64_t aligned = whole >= 16 ? value >> (whole - 16) : value << (16 - whole);
    const int32_t fraction = (int32_t)(aligned & 0xffffu);
    const int32_t low = mel->log2[fraction >> 10];
    const int32_t high = mel->log2[(fraction >> 10) + 1];
    return whole * 65536 + low + (((high - low) * (fraction & 1023) + 512) >> 10);
}

/* The log2 of every band's energy, Q16. */
static void band_logs(const td_mel *mel, const uint64_t *spectrum, int32_t shift, int32_t *logs) {
    const int32_t counted = mel->magnitude ? shift : 2 * shift;
    const uint64_t epsilon =
        counted >= 0 ? (uint64_t)mel->epsilon >> counted : (uint64_t)mel->epsilon << -counted;
    const uint16_t *weights = mel->weights;
    for (int32_t bin = 0; bin < mel->bins; ++bin) {
        const td_mel_band band = mel->bands[bin];
        uint64_t sum = epsilon;
        for (uint32_t k = 0u; k < band.count; ++k) {
            sum += spectrum[band.first + k] * weights[k];
        }
        weights += band.count;
        logs[bin] =
            sum == 0u ? LOG2_OF_NOTHING : log2_of(mel, sum) + mel->log2_unit + counted * 65536;
    }
}

static int64_t step_of(const td_mel *mel, int64_t sum) {
    if (mel->truncate) {
        return sum < 0 ? -(-sum >> OUTPUT_SHIFT) : sum >> OUTPUT_SHIFT;
    }
    return (sum + ((int64_t)1 << (OUTPUT_SHIFT - 1))) >> OUTPUT_SHIFT;
}

void td_mel_frame(const td_mel *mel, const int16_t *samples, int16_t before, void *scratch,
                  int8_t *steps) {
    const int32_t spectrum_bins = mel->fft / 2 + 1;
    uint64_t *const spectrum = (uint64_t *)scratch;
    int32_t *const values = (int32_t *)(void *)(spectrum + spectrum_bins);
    int32_t *const logs = values + mel->fft;
    const int32_t shift = window_frame(mel, samples, before, values);
    complex_fft(mel, values);
    for (int32_t k = 0; k < spectrum_bins; ++k) {
        const uint64_t power = power_at(mel, values, k);
        spectrum[k] = mel->magnitude ? square_root(power) : power >> POWER_SHIFT;
    }
    band_logs(mel, spectrum, shift, logs);
    const int32_t *row = mel->matrix;
    for (int32_t output = 0; output < mel->outputs; ++output) {
        int64_t sum = mel->offset;
        if (mel->diagonal) {
            sum += (int64_t)logs[output] * row[output];
        } else {
            for (int32_t bin = 0; bin < mel->bins; ++bin) {
                sum += (int64_t)logs[bin] * row[bin];
            }
            row += mel->bins;
        }
        const int64_t step = step_of(mel, sum);
        steps[output] = (int8_t)(step < -128 ? -128 : (step > 127 ? 127 : step));
    }
}
