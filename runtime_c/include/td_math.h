/* Functions of one or two float numbers for generated models.
 *
 * All of them are float arithmetic and integers: no double, no C library, so that they cost no soft
 * double routines on a core with a single precision FPU and give the same bits with every compiler
 * that neither contracts nor reorders (-ffp-contract=off, no -ffast-math). Infinities, NaN, signed
 * zeros and subnormal numbers behave as IEEE 754 and C99's annex F say; no error flags are kept.
 *
 * Errors against the exact value, for every float: floor, ceil, trunc, roundeven, fmod and sqrt
 * none; exp, expm1, log 2 units in the last place; all others a relative error below 1e-6, sin, cos
 * and tan for arguments of any size. The polynomials are minimax fits over the ranges that the
 * reductions leave. */
#ifndef TD_MATH_H
#define TD_MATH_H

#include "td_math_exp.h"
#include "td_math_power.h"
#include "td_math_round.h"
#include "td_math_trig.h"

#endif
