"""Names of generated things: a legal, unique C prefix from whatever the model or the user offers."""

from __future__ import annotations

import re

from tinydeploy.errors import TinyDeployError

MAX_LENGTH = 40

# Keywords of C and C++ and names that the generated files use themselves.
_WORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class compl
    const const_cast constexpr continue decltype default delete do double dynamic_cast else enum explicit
    export extern false float for friend goto if inline int long main mutable namespace new noexcept not
    not_eq nullptr operator or or_eq private protected public register reinterpret_cast restrict return short
    signed sizeof static static_assert static_cast struct switch template this thread_local throw true try
    typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t memcpy memset tinydeploy
    linux unix i386 arm
    assert complex ctype errno fenv inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic
    stdbool stddef stdint stdio stdlib string tgmath threads time uchar wchar wctype
"""
RESERVED = frozenset(_WORDS.split())


def prefix_of(text: str) -> str:
    """A prefix made from any text: lower case, ASCII, at most 40 characters; ``model`` if nothing is left."""
    words = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:MAX_LENGTH].rstrip("_")
    if not words:
        return "model"
    if words[0].isdigit() or words in RESERVED or re.match(r"td(_|$)", words):
        return f"m_{words}"
    return words


def checked_prefix(name: str) -> str:
    """A prefix that the user chose; raises TinyDeployError where C would not take it."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or len(name) > MAX_LENGTH or "__" in name:
        raise TinyDeployError(
            f"name {name!r} cannot prefix C functions",
            fix=f"Use up to {MAX_LENGTH} of a-z, 0-9 and single _, a letter first",
        )
    if name in RESERVED or name.startswith("td_") or name == "td":
        raise TinyDeployError(f"name {name!r} is reserved", fix="Choose another name")
    return name
