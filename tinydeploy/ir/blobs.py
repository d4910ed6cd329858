"""Constant data, kept once per content and outside the graph, so that graphs compare and hash cheaply."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

import numpy as np

from tinydeploy.errors import GraphError
from tinydeploy.ir.types import Array, TensorType


def blob_of(array: Array) -> bytes:
    """The bytes of an array as they are stored: row-major, little-endian."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return little.tobytes()


def digest_of(blob: bytes) -> str:
    """Name of a blob: its SHA-256 in hexadecimal."""
    return hashlib.sha256(blob).hexdigest()


class BlobStore(Mapping[str, bytes]):
    """A read-only mapping from digest to bytes; adding gives a new store that shares the old bytes."""

    __slots__ = ("_blobs",)

    def __init__(self, blobs: Mapping[str, bytes] | None = None) -> None:
        self._blobs = dict(blobs or {})

    def __getitem__(self, digest: str) -> bytes:
        return self._blobs[digest]

    def __iter__(self) -> Iterator[str]:
        return iter(self._blobs)

    def __len__(self) -> int:
        return len(self._blobs)

    def with_blobs(self, blobs: Mapping[str, bytes]) -> BlobStore:
        return BlobStore({**self._blobs, **blobs})

    def array(self, digest: str, type_: TensorType) -> Array:
        """The constant as a read-only array of ``type_.shape``.

        Raises GraphError where the blob is missing or has another size.
        """
        blob = self._blobs.get(digest)
        if blob is None:
            raise GraphError(f"constant {digest[:12]} is not in the blob store")
        dtype = type_.dtype.numpy
        if len(blob) != type_.elements * dtype.itemsize:
            raise GraphError(
                f"constant {digest[:12]} has {len(blob)} bytes, "
                f"its type needs {type_.elements * dtype.itemsize}"
            )
        return np.frombuffer(blob, dtype=dtype).reshape(type_.shape)
