"""The header of a slot (runtime_c/slots/td_slot.h), with an optional signature."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable

from tinydeploy.codegen import Library, Slots
from tinydeploy.errors import TinyDeployError

MAGIC = 0x4C53_4454
VERSION = 1
HEAD_BYTES = 256
"""Header and signature together, at most."""

Sign = Callable[[bytes], bytes]
"""The signature of a header; its digest binds the constants, its counter forbids going back."""

_HEADER = struct.Struct("<4I3QII32s3I")


def slot_head(library: Library, abi: int, own: int, counter: int, sign: Sign | None = None) -> bytes:
    """Header and signature of a model's constants, for an image whose own model has the hash ``own``."""
    slots = slots_of(library)
    digest = hashlib.sha256(slots.payload).digest()

    def header(signature_bytes: int) -> bytes:
        body = _HEADER.pack(
            MAGIC,
            VERSION,
            abi,
            len(slots.payload),
            slots.layout.hash,
            own,
            int(library.hash, 16),
            counter,
            signature_bytes,
            digest,
            *(0, 0, 0),
        )
        return body + zlib.crc32(body).to_bytes(4, "little")

    if sign is None:
        return header(0)
    length = len(sign(header(0)))
    signed = header(length)
    signature = sign(signed)
    if len(signature) != length or len(signed) + length > HEAD_BYTES:
        raise TinyDeployError(
            f"the signature has {len(signature)} bytes, up to {HEAD_BYTES - len(signed)} of one length "
            "are allowed",
            fix="Sign with Ed25519 or ECDSA",
        )
    return signed + signature


def slots_of(library: Library) -> Slots:
    """The exchangeable constants of a library that was compiled with them."""
    if library.block is None:
        raise ValueError(f"{library.prefix} was compiled without slots")
    return library.block
