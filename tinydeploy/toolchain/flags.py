"""The flags that do not depend on the CPU: warnings, language, code generation."""

from __future__ import annotations

# Every C file of the runtime and of a generated model is clean under these, with gcc and with clang.
WARNINGS = (
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wshadow",
    "-Wcast-qual",
    "-Wundef",
    "-Wmissing-prototypes",
    "-Wstrict-prototypes",
    "-Wdouble-promotion",
    "-Werror",
)

# The languages that generated files are written in; the runtime is C11.
C11 = ("-std=c11",)
C99 = ("-std=c99",)
CPP11 = ("-x", "c++", "-std=c++11")

# Compilers refuse them for C++.
C_ONLY_WARNINGS = ("-Wmissing-prototypes", "-Wstrict-prototypes")

# -ffp-contract=off: the same float bits on host and boards (DESIGN 3).
COMMON = ("-g", "-ffp-contract=off", "-fno-math-errno")

# -fno-builtin comes with -ffreestanding; libc/string.h brings the builtins back for fixed sizes.
FREESTANDING = (
    "-ffreestanding",
    "-fomit-frame-pointer",
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-common",
    "-fno-unwind-tables",
    "-fno-asynchronous-unwind-tables",
)

SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
