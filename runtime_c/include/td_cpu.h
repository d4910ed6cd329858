/* Guards: the compiler was told to use what the chip has. Included first in every runtime file.
 * Board files name a CPU key; the table of keys turns it into compiler flags and TD_CPU_HAS_
 * macros, and a compiler that quietly leaves a feature out (clang for a bare cortex-m7) is stopped
 * here. */
#ifndef TD_CPU_H
#define TD_CPU_H

#if defined(TD_CPU_HAS_FPU) && !defined(__ARM_FP)
#error "the chip has an FPU, but the compiler's flags for this CPU leave it out"
#endif
#if defined(TD_CPU_HAS_DSP) && !defined(__ARM_FEATURE_DSP)
#error "the chip has the DSP extension, but the compiler's flags for this CPU leave it out"
#endif
#if defined(TD_CPU_HAS_MVE) && !defined(__ARM_FEATURE_MVE)
#error "the chip has MVE, but the compiler's flags for this CPU leave it out"
#endif
#if defined(__ARM_FP) && !defined(TD_CPU_HAS_FPU)
#error "the compiler uses an FPU that startup does not switch on"
#endif

#endif
