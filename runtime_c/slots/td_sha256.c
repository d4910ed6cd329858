#include "td_cpu.h"

#include <string.h>

#include "td_sha256.h"

enum { BLOCK = 64, WORDS = 16, ROUNDS = 64, LENGTH_BYTES = 8 };

/* The fractional parts of the cube roots of the first 64 primes (4.2.2). */
static const uint32_t td_sha256_k[ROUNDS] = {
    0x428A2F98u, 0x71374491u, 0xB5C0FBCFu, 0xE9B5DBA5u, 0x3956C25Bu, 0x59F111F1u, 0x923F82A4u,
    0xAB1C5ED5u, 0xD807AA98u, 0x12835B01u, 0x243185BEu, 0x550C7DC3u, 0x72BE5D74u, 0x80DEB1FEu,
    0x9BDC06A7u, 0xC19BF174u, 0xE49B69C1u, 0xEFBE4786u, 0x0FC19DC6u, 0x240CA1CCu, 0x2DE92C6Fu,
    0x4A7484AAu, 0x5CB0A9DCu, 0x76F988DAu, 0x983E5152u, 0xA831C66Du, 0xB00327C8u, 0xBF597FC7u,
    0xC6E00BF3u, 0xD5A79147u, 0x06CA6351u, 0x14292967u, 0x27B70A85u, 0x2E1B2138u, 0x4D2C6DFCu,
    0x53380D13u, 0x650A7354u, 0x766A0ABBu, 0x81C2C92Eu, 0x92722C85u, 0xA2BFE8A1u, 0xA81A664Bu,
    0xC24B8B70u, 0xC76C51A3u, 0xD192E819u, 0xD6990624u, 0xF40E3585u, 0x106AA070u, 0x19A4C116u,
    0x1E376C08u, 0x2748774Cu, 0x34B0BCB5u, 0x391C0CB3u, 0x4ED8AA4Au, 0x5B9CCA4Fu, 0x682E6FF3u,
    0x748F82EEu, 0x78A5636Fu, 0x84C87814u, 0x8CC70208u, 0x90BEFFFAu, 0xA4506CEBu, 0xBEF9A3F7u,
    0xC67178F2u,
};

static inline uint32_t td_rotate(uint32_t x, unsigned bits) {
    return x >> bits | x << (32u - bits);
}

static void td_sha256_block(uint32_t h[8], const uint8_t *block) {
    uint32_t w[WORDS];
    uint32_t s[8];
    memcpy(s, h, sizeof s);
    for (unsigned t = 0u; t < ROUNDS; t++) {
        uint32_t *word = &w[t % WORDS];
        if (t < WORDS) {
            const uint8_t *from = &block[4u * t];
            *word = (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 |
                    (uint32_t)from[3];
        } else {
            const uint32_t early = w[(t + 1u) % WORDS];
            const uint32_t late = w[(t + 14u) % WORDS];
            *word += (td_rotate(early, 7u) ^ td_rotate(early, 18u) ^ early >> 3) +
                     w[(t + 9u) % WORDS] +
                     (td_rotate(late, 17u) ^ td_rotate(late, 19u) ^ late >> 10);
        }
        const uint32_t first = s[7] +
                               (td_rotate(s[4], 6u) ^ td_rotate(s[4], 11u) ^ td_rotate(s[4], 25u)) +
                               ((s[4] & s[5]) ^ (~s[4] & s[6])) + td_sha256_k[t] + *word;
        const uint32_t second =
            (td_rotate(s[0], 2u) ^ td_rotate(s[0], 13u) ^ td_rotate(s[0], 22u)) +
            ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(&s[1], &s[0], 7u * sizeof s[0]);
        s[4] += first;
        s[0] = first + second;
    }
    for (unsigned i = 0u; i < 8u; i++) {
        h[i] += s[i];
    }
}

void td_sha256(const uint8_t *bytes, size_t size, uint8_t digest[TD_SHA256_BYTES]) {
    uint32_t h[8] = {0x6A09E667u, 0xBB67AE85u, 0x3C6EF372u, 0xA54FF53Au,
                     0x510E527Fu, 0x9B05688Cu, 0x1F83D9ABu, 0x5BE0CD19u};
    uint8_t last[2 * BLOCK] = {0};
    const size_t rest = size % BLOCK;
    const size_t padded = rest < BLOCK - LENGTH_BYTES ? BLOCK : 2u * BLOCK;
    for (size_t at = 0u; at < size - rest; at += BLOCK) {
        td_sha256_block(h, &bytes[at]);
    }
    if (rest != 0u) {
        memcpy(last, &bytes[size - rest], rest);
    }
    last[rest] = 0x80u;
    const uint64_t bits = (uint64_t)size * 8u;
    for (unsigned i = 0u; i < LENGTH_BYTES; i++) {
        last[padded - 1u - i] = (uint8_t)(bits >> (8u * i) & 0xFFu);
    }
    for (size_t at = 0u; at < padded; at += BLOCK) {
        td_sha256_block(h, &last[at]);
    }
    for (unsigned i = 0u; i < TD_SHA256_BYTES; i++) {
        digest[i] = (uint8_t)(h[i / 4u] >> (24u - 8u * (i % 4u)) & 0xFFu);
    }
}
