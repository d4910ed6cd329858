"""What a bad line does to frames, by a seed; and a bad line in front of a good one, for any device."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tinydeploy.rpc.frame import FrameDecoder, encode_frame
from tinydeploy.rpc.transport import Transport


@dataclass(frozen=True, slots=True)
class Rates:
    """Chance per frame of each fault."""

    drop: float = 0.03
    repeat: float = 0.03
    flip: float = 0.03
    insert: float = 0.02
    remove: float = 0.02
    cut: float = 0.01
    delay: float = 0.05
    reboot: float = 0.0005


class Faults:
    """Draws the fate of each frame."""

    def __init__(self, seed: int, rates: Rates) -> None:
        self._random = random.Random(seed)
        self._rates = rates

    def reboots(self) -> bool:
        """Does the device restart now?"""
        return self._random.random() < self._rates.reboot

    def copies(self, frame: bytes) -> Iterator[tuple[float, bytes]]:
        """What arrives of a frame: how late (0 to 3, mostly 0), and which bytes."""
        chance, rates = self._random.random, self._rates
        for _ in range(2 if chance() < rates.repeat else 1):
            if chance() >= rates.drop:
                late = self._random.uniform(0, 3) if chance() < rates.delay else 0.0
                yield late, self._damaged(frame)

    def _damaged(self, frame: bytes) -> bytes:
        draw, rates = self._random, self._rates
        data = bytearray(frame)
        if draw.random() < rates.flip:
            for _ in range(draw.randint(1, 3)):
                data[draw.randrange(len(data))] = draw.randrange(256)
        if draw.random() < rates.insert:
            at = draw.randrange(len(data))
            data[at:at] = draw.randbytes(draw.randint(1, 20))
        if draw.random() < rates.remove:
            at = draw.randrange(len(data))
            del data[at : at + draw.randint(1, 5)]
        if draw.random() < rates.cut:
            del data[draw.randrange(len(data)) :]
        return bytes(data)


class FaultyTransport:
    """A line to any device, made bad in both directions. A late frame arrives behind up to three later ones.

    `frames` counts what either end sent.
    """

    def __init__(self, inner: Transport, seed: int, rates: Rates | None = None) -> None:
        self.name = inner.name
        self.seconds_per_byte = inner.seconds_per_byte
        self.frames = 0
        self._inner = inner
        self._faults = Faults(seed, rates or Rates())
        self._splitter = FrameDecoder(70000)
        self._late_out: list[tuple[int, bytes]] = []
        self._late_in: list[tuple[int, bytes]] = []

    def write(self, data: bytes) -> None:
        self._inner.write(self._passed(data, self._late_out))

    def read(self, timeout_s: float) -> bytes:
        bodies = self._splitter.feed(self._inner.read(timeout_s))
        return b"".join(self._passed(encode_frame(body), self._late_in) for body in bodies)

    def close(self) -> None:
        self._inner.close()

    def _passed(self, frame: bytes, late: list[tuple[int, bytes]]) -> bytes:
        """What arrives now: this frame's copies that are in time, then late ones whose turn has come."""
        self.frames += 1
        arrived = b""
        held = [(turns - 1, data) for turns, data in late]
        for turns, data in self._faults.copies(frame):
            if turns:
                held.append((1 + int(turns), data))
            else:
                arrived += data
        late[:] = [(turns, data) for turns, data in held if turns > 0]
        return arrived + b"".join(data for turns, data in held if turns <= 0)
