/* The Arm DSP instructions that kernels use, and portable C of the same meaning for other cores, so
 * that DSP schedules run and are checked on the host too. */
#ifndef TD_DSP_H
#define TD_DSP_H

#include <stdint.h>

#if defined(__GNUC__)
#define TD_MEMCPY __builtin_memcpy /* freestanding compilers come without string.h */
#else
#include <string.h>
#define TD_MEMCPY memcpy
#endif

#if defined(__ARM_FEATURE_DSP) && defined(__GNUC__) && !defined(TD_DSP_PORTABLE)
#include <arm_acle.h>
#define TD_DSP_NATIVE 1
#else
#define TD_DSP_NATIVE 0
#endif

/* Four bytes as a little-endian word; `bytes` is a multiple of 4 or the core allows otherwise. */
static inline uint32_t td_load_word(const void *bytes) {
    uint32_t word;
    TD_MEMCPY(&word, bytes, sizeof word);
    return word;
}

/* The first `count` of four bytes as a word, the others 0; count 1 to 3. Reads nothing behind them.
 */
static inline uint32_t td_load_bytes(const int8_t *bytes, int32_t count) {
    uint32_t word = (uint8_t)bytes[0];
    if (count > 1) {
        word |= (uint32_t)(uint8_t)bytes[1] << 8;
    }
    if (count > 2) {
        word |= (uint32_t)(uint8_t)bytes[2] << 16;
    }
    return word;
}

/* Bytes 0 and 2 as two signed halfwords (SXTB16). */
static inline uint32_t td_sxtb16(uint32_t word) {
#if TD_DSP_NATIVE
    return (uint32_t)__sxtb16((int8x4_t)word);
#else
    const uint32_t low = (uint32_t)(int32_t)(int8_t)(word & 0xffu) & 0xffffu;
    const uint32_t high = (uint32_t)(int32_t)(int8_t)((word >> 16) & 0xffu) & 0xffffu;
    return low | (high << 16);
#endif
}

/* Bytes 1 and 3 as two signed halfwords (SXTB16 of the word rotated by 8). */
static inline uint32_t td_sxtb16_ror8(uint32_t word) {
#if TD_DSP_NATIVE
    uint32_t pair;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(word));
    return pair;
#else
    return td_sxtb16((word >> 8) | (word << 24));
#endif
}

/* Product of the low halfwords of both words, plus `sum` (SMLABB); of the high ones (SMLATT). */
static inline int32_t td_smlabb(uint32_t a, uint32_t b, int32_t sum) {
#if TD_DSP_NATIVE
    int32_t result;
    __asm__("smlabb %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
#else
    return sum + (int32_t)(int16_t)(a & 0xffffu) * (int32_t)(int16_t)(b & 0xffffu);
#endif
}

static inline int32_t td_smlatt(uint32_t a, uint32_t b, int32_t sum) {
#if TD_DSP_NATIVE
    int32_t result;
    __asm__("smlatt %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
#else
    return sum + (int32_t)(int16_t)(a >> 16) * (int32_t)(int16_t)(b >> 16);
#endif
}

/* Sum of the products of both pairs of signed halfwords, plus `sum`, modulo 2^32 (SMLAD). */
static inline int32_t td_smlad(uint32_t a, uint32_t b, int32_t sum) {
#if TD_DSP_NATIVE
    return __smlad((int16x2_t)a, (int16x2_t)b, sum);
#else
    const int32_t low = (int32_t)(int16_t)(a & 0xffffu) * (int32_t)(int16_t)(b & 0xffffu);
    const int32_t high = (int32_t)(int16_t)(a >> 16) * (int32_t)(int16_t)(b >> 16);
    return (int32_t)((uint32_t)sum + (uint32_t)low + (uint32_t)high);
#endif
}

#endif
