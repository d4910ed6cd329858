"""Where a device's run first differs from a reference: CRCs narrow it down, one row's bytes are fetched."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from tinydeploy.errors import DeviceError
from tinydeploy.rpc.client import Client
from tinydeploy.rpc.errors import InputError
from tinydeploy.rpc.messages import Array
from tinydeploy.rpc.steps import row_bytes, row_crcs, trace


@dataclass(frozen=True, slots=True)
class FirstBad:
    """The first row, in order of execution, that differs. A row that one side lacks has no bytes there."""

    instance: int
    row: int
    expected: bytes
    got: bytes

    @property
    def offset(self) -> int:
        """The first byte of the row that differs."""
        pairs = zip(self.expected, self.got, strict=False)
        differing = (at for at, (a, b) in enumerate(pairs) if a != b)
        return next(differing, min(len(self.expected), len(self.got)))


def first_difference(
    client: Client,
    reference: Mapping[int, Sequence[bytes]],
    inputs: Sequence[Array],
    history: Sequence[Sequence[Array]] = (),
) -> FirstBad | None:
    """The first row that differs from `reference` (instance -> bytes of its rows); None where all are equal.

    The device runs `history` and then `inputs`, from a reset model, once; and a few times more when
    something differs. Raises InputError where the reference lacks an instance, and DeviceError where the
    device's runs differ among themselves.
    """
    traced = trace(client, inputs, history)
    missing = sorted({entry.instance for entry in traced} - reference.keys())
    if missing:
        what = f"the reference has no rows of kernel instance {missing[0]}, which the device traced"
        raise InputError(what, where=client.where, fix="Flash the image of the model that is compared")
    for entry in traced:
        rows = reference[entry.instance]
        if entry.rows == len(rows) and entry.crc == zlib.crc32(b"".join(rows)):
            continue
        return _first_row(client, entry.instance, rows, inputs, history)
    return None


def _first_row(
    client: Client,
    instance: int,
    rows: Sequence[bytes],
    inputs: Sequence[Array],
    history: Sequence[Sequence[Array]],
) -> FirstBad:
    expected_crcs = [zlib.crc32(row) for row in rows]
    got_crcs = row_crcs(client, instance, inputs, history)
    pairs = enumerate(zip_longest(expected_crcs, got_crcs))
    row = next((number for number, (expected, got) in pairs if expected != got), None)
    if row is not None:
        expected = rows[row] if row < len(rows) else b""
        got = row_bytes(client, instance, row, inputs, history)
        if zlib.crc32(got) == (got_crcs[row] if row < len(got_crcs) else 0):
            return FirstBad(instance, row, expected, got)
    raise DeviceError(
        f"the device does not repeat itself: kernel instance {instance} wrote other bytes in another run",
        where=client.where,
        fix="Check its power supply and clock; interrupts must not touch the model's arena",
    )
