/* Applies functions of td_math.h to numbers from standard input.
 *
 * A request is two int32, the function's number and a count, then that many x, then as many y; the
 * answer is that many results. */
#include <stdio.h>
#include <stdlib.h>

#include "td_math.h"

#define UNARY(name)                                                                                \
    static float apply_##name(float x, float y) {                                                  \
        (void)y;                                                                                   \
        return td_##name##f(x);                                                                    \
    }

UNARY(abs)
UNARY(acos)
UNARY(acosh)
UNARY(asin)
UNARY(asinh)
UNARY(atan)
UNARY(atanh)
UNARY(ceil)
UNARY(cos)
UNARY(cosh)
UNARY(erf)
UNARY(erfc)
UNARY(exp)
UNARY(expm1)
UNARY(floor)
UNARY(log)
UNARY(log1p)
UNARY(round)
UNARY(roundeven)
UNARY(sigmoid)
UNARY(sin)
UNARY(sinh)
UNARY(softplus)
UNARY(sqrt)
UNARY(tan)
UNARY(tanh)
UNARY(trunc)

typedef float (*function)(float, float);

static const function functions[] = {
    apply_abs,       apply_acos,    apply_acosh, apply_asin, apply_asinh,    apply_atan,
    apply_atanh,     apply_ceil,    apply_cos,   apply_cosh, apply_erf,      apply_erfc,
    apply_exp,       apply_expm1,   apply_floor, apply_log,  apply_log1p,    apply_round,
    apply_roundeven, apply_sigmoid, apply_sin,   apply_sinh, apply_softplus, apply_sqrt,
    apply_tan,       apply_tanh,    apply_trunc, td_fmodf,   td_powf,
};

int main(void) {
    int32_t request[2];
    while (fread(request, sizeof request, 1, stdin) == 1) {
        const size_t count = (size_t)request[1];
        float *const x = (float *)malloc(2 * count * sizeof(float));
        if (x == NULL || fread(x, sizeof(float), 2 * count, stdin) != 2 * count) {
            return 1;
        }
        for (size_t k = 0; k < count; ++k) {
            x[k] = functions[request[0]](x[k], x[count + k]);
        }
        if (fwrite(x, sizeof(float), count, stdout) != count) {
            return 1;
        }
        free(x);
    }
    return 0;
}
