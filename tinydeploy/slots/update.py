"""An update over the line: only blocks that changed are sent, and the old model runs until the end."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tinydeploy.build import Compiled
from tinydeploy.codegen.model import RUNTIME_ABI
from tinydeploy.errors import DeviceError
from tinydeploy.rpc import Capability, Client, RefusedError, Status
from tinydeploy.rpc.slots import (
    COPY_BYTES,
    SlotsInfo,
    begin_update,
    block_sums,
    commit_update,
    copy_slot,
    part_sums,
    slots_info,
    write_slot,
)
from tinydeploy.slots.image import Sign, slot_head, slots_of
from tinydeploy.slots.layout import Known, difference

Progress = Callable[[int, int], None]
"""Called with the bytes that are in their place, and all of them."""


@dataclass(frozen=True, slots=True)
class Update:
    """What an update did. ``sent_bytes`` went over the line; the other blocks were copied on the device."""

    before: int
    after: int
    blocks: int
    changed_blocks: int
    payload_bytes: int
    sent_bytes: int
    counter: int


def update_model(
    client: Client,
    compiled: Compiled,
    *,
    known: Known | None = None,
    sign: Sign | None = None,
    progress: Progress | None = None,
) -> Update:
    """Exchange the constants of the image's model for those of ``compiled``, which was made with slots.

    Nothing is sent where the model runs already. Raises DeviceError, with the old model active, where the
    image has no slots, where the model does not fit its code, and where the device refuses it; a later update
    starts anew.
    """
    slots = slots_of(compiled.library)
    if not client.device.capabilities & Capability.UPDATE:
        raise DeviceError(
            "the image on the device holds no slots, so its model cannot be exchanged",
            where=client.where,
            fix="Build it with --slots, and flash it",
        )
    info = slots_info(client)
    _check(client, compiled, info, known)
    wanted = int(compiled.library.hash, 16)
    counter = info.next_counter
    if info.running == wanted:
        return Update(wanted, wanted, info.blocks, 0, info.payload_bytes, 0, counter - 1)
    head = slot_head(compiled.library, client.device.abi, info.own, counter, sign)
    changed = _changed(slots.payload, block_sums(client, info.blocks), info.block_bytes)
    try:
        _send(client, slots.payload, slots.layout.hash, info, changed, progress)
        commit_update(client, head)
    except RefusedError as error:
        if error.status != Status.DAMAGED or all(changed):
            raise
        changed = [True] * info.blocks  # two different blocks of one checksum
        _send(client, slots.payload, slots.layout.hash, info, changed, progress)
        commit_update(client, head)
    found = client.describe().hash
    if found != wanted:
        raise DeviceError(
            f"the device runs the model {found:016x} after an update to {wanted:016x}",
            where=client.where,
            fix="Start the update again",
        )
    sent = sum(min(info.block_bytes, info.payload_bytes - at) for at in _places(info, changed))
    return Update(info.running, found, info.blocks, sum(changed), info.payload_bytes, sent, counter)


def _check(client: Client, compiled: Compiled, info: SlotsInfo, known: Known | None) -> None:
    slots = slots_of(compiled.library)
    if client.device.abi != RUNTIME_ABI:
        reason: str | None = f"it is for runtime ABI {RUNTIME_ABI}, the device has {client.device.abi}"
    else:
        sums = [] if info.layout == slots.layout.hash else part_sums(client, info.parts)
        reason = difference(slots.layout, info.layout, sums, known)
    if reason is None and info.payload_bytes > info.capacity_bytes:
        reason = f"it needs {info.payload_bytes:,} bytes, a slot has {info.capacity_bytes:,}"
    if reason is not None:
        raise DeviceError(
            f"the model {compiled.library.prefix} cannot run in the image on the device: {reason}",
            where=client.where,
            fix="Flash an image of this model, built with --slots",
        )


def _changed(payload: bytes, sums: Sequence[int], block_bytes: int) -> list[bool]:
    blocks = [payload[at : at + block_bytes] for at in range(0, len(payload), block_bytes)]
    return [zlib.crc32(block) != found for block, found in zip(blocks, sums, strict=True)]


def _places(info: SlotsInfo, changed: Sequence[bool]) -> list[int]:
    return [index * info.block_bytes for index, differs in enumerate(changed) if differs]


def _send(
    client: Client,
    payload: bytes,
    layout: int,
    info: SlotsInfo,
    changed: Sequence[bool],
    progress: Progress | None,
) -> None:
    begin_update(client, client.device.abi, layout, len(payload))
    at = 0
    for differs, run in itertools.groupby(changed):
        end = min(at + info.block_bytes * sum(1 for _ in run), len(payload))
        step = info.block_bytes if differs else COPY_BYTES
        for start in range(at, end, step):
            if differs:
                write_slot(client, start, payload[start : min(start + step, end)])
            else:
                copy_slot(client, start, min(step, end - start))
            if progress is not None:
                progress(min(start + step, end), len(payload))
        at = end
