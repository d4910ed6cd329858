/* What generated models and the runtime agree on: status codes, alignment, tracing and the
 * description of a model. Common subset of C99 and C++11; no libc beyond stdint and stddef. */
#ifndef TINYDEPLOY_H
#define TINYDEPLOY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Generated files test it and refuse to compile against another version. */
#define TD_RUNTIME_ABI 1

/* 1 compiles the per-row trace calls into a model; 0 (the default) leaves no trace of them. */
#ifndef TD_TRACE
#define TD_TRACE 0
#endif

/* TD_DECLARED_ALIGNED is TD_ALIGNED on a declaration: where none is said, compilers for x86-64 take
 * 16 bytes for granted for large arrays. Elsewhere gcc is not told, since it then makes kernels
 * larger and slower (a dense network on Cortex-M4: 34 % of code, 2 % of instructions). */
#if defined(__GNUC__)
#define TD_MUST_CHECK __attribute__((warn_unused_result))
#define TD_ALIGNED(bytes) __attribute__((aligned(bytes)))
#if defined(__clang__)
#define TD_KERNEL __attribute__((noinline))
#else
#define TD_KERNEL __attribute__((noinline, noclone, optimize("no-schedule-insns")))
#endif
#define TD_UNUSED __attribute__((unused))
#if defined(__clang__) || defined(__x86_64__)
#define TD_DECLARED_ALIGNED(bytes) TD_ALIGNED(bytes)
#else
#define TD_DECLARED_ALIGNED(bytes)
#endif
#if defined(__clang__) || __GNUC__ >= 8
#define TD_UNROLL_4 _Pragma("GCC unroll 4")
#else
#define TD_UNROLL_4
#endif
#define TD_INFINITY __builtin_inff()
#define TD_NAN __builtin_nanf("")
#else
#include <math.h>
#define TD_INFINITY INFINITY
#define TD_NAN NAN
#define TD_MUST_CHECK
#define TD_ALIGNED(bytes)
#define TD_DECLARED_ALIGNED(bytes)
#define TD_KERNEL
#define TD_UNUSED
#define TD_UNROLL_4
#endif

/* Every arena and every generated buffer starts at a multiple of this many bytes; those of a model
 * with 64-bit values at one of NAME_ALIGN_BYTES. */
#define TD_ALIGN_BYTES 4u

typedef enum {
    TD_OK = 0,
    TD_DONE = 1,                  /* step(): that was the last step, the outputs are ready */
    TD_ERROR_NULL = 2,            /* a required pointer is NULL */
    TD_ERROR_ARENA_SIZE = 3,      /* the arena is smaller than NAME_ARENA_BYTES */
    TD_ERROR_ARENA_ALIGN = 4,     /* the arena does not start at a multiple of NAME_ALIGN_BYTES */
    TD_ERROR_NOT_INITIALIZED = 5, /* run() or step() before init() */
    TD_ERROR_SELFTEST = 6         /* selftest(): a step computed other bits than the reference */
} td_status;

typedef enum {
    TD_INT4 = 1,
    TD_INT8 = 2,
    TD_UINT8 = 3,
    TD_INT16 = 4,
    TD_INT32 = 5,
    TD_INT64 = 6,
    TD_FLOAT32 = 7,
    TD_BOOL = 8,
    TD_UINT16 = 9,
    TD_UINT32 = 10
} td_dtype;

/* Called with each row that kernel instance `instance` has just written, rows in ascending order.
 * The bytes are valid during the call only. */
typedef void (*td_trace_fn)(void *context, uint32_t instance, uint32_t row, const void *bytes,
                            size_t size);

/* The state of one model; the caller owns it. NAME_t is a struct around it. */
typedef struct {
    uint8_t *arena;        /* NULL before init() */
    uint32_t next_step;    /* step() runs this one */
    td_trace_fn trace;     /* NULL: no tracing; used only where TD_TRACE is 1 */
    void *trace_context;   /* first argument of trace */
    const void *constants; /* of a model whose constants are exchanged; else not used */
} td_state;

/* One input or output of a model. */
typedef struct {
    const char *name; /* the model's own name, escaped to printable ASCII */
    td_dtype dtype;
    uint32_t bytes;
    uint32_t rank;
    const int32_t *shape; /* rank extents */
    float scale;          /* 0: not quantized */
    int32_t zero_point;
} td_tensor;

/* A model as data, for code that serves any model (the RPC server, the host harness). */
typedef struct {
    const char *name;
    uint64_t hash; /* first 8 bytes of the SHA-256 of the graph */
    uint32_t arena_bytes;
    uint32_t step_count;
    uint32_t instance_count; /* kernel instances that trace reports */
    uint32_t input_count;
    uint32_t output_count;
    const td_tensor *inputs;
    const td_tensor *outputs;
    td_status (*init)(td_state *state, void *arena, size_t arena_bytes);
    void *(*input)(td_state *state, uint32_t index);              /* NULL: no such input */
    const void *(*output)(const td_state *state, uint32_t index); /* NULL: no such output */
    td_status (*run)(td_state *state);
    td_status (*step)(td_state *state);
    void (*reset)(
        td_state *state); /* forgets state variables and a half-finished step-by-step run */
} td_model;

#ifdef __cplusplus
}
#endif
#endif
