"""pyOCD with a probe of ours: its debug port is the model of a chip. Runs the worker, then stores the flash.

``python -m tests.flash.pyocd_probe FLASH_FILE BOARD.toml TARGET IMAGE [SERIAL]``
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pyocd.probe.aggregator import PROBE_CLASSES
from pyocd.probe.debug_probe import DebugProbe

from tinydeploy.boards import load_board
from tinydeploy.emulate.remote_bitbang import RemoteBitbang
from tinydeploy.flash.pyocd_worker import main

_DPIDR = 0x2BA0_1477


def probe_class(chip: RemoteBitbang) -> type:
    """A probe class for pyOCD, with one probe that is connected to the chip."""

    class ModelProbe(DebugProbe):  # type: ignore[misc]
        unique_id = "MODEL1"
        description = vendor_name = product_name = "model"
        capabilities = frozenset({DebugProbe.Capability.SWJ_SEQUENCE})
        supported_wire_protocols = (DebugProbe.Protocol.DEFAULT, DebugProbe.Protocol.SWD)
        wire_protocol = DebugProbe.Protocol.SWD
        is_open = False
        associated_board_info = None

        def __init__(self) -> None:
            super().__init__()
            self._bank = 0

        @classmethod
        def get_all_connected_probes(cls, unique_id: Any = None, is_explicit: bool = False) -> list[Any]:
            return [cls()]

        @classmethod
        def get_probe_with_id(cls, unique_id: str, is_explicit: bool = False) -> Any:
            return cls() if unique_id == cls.unique_id else None

        def open(self) -> None:
            self.is_open = True

        def close(self) -> None:
            self.is_open = False

        def connect(self, protocol: Any = None) -> None:
            """It is."""

        def disconnect(self) -> None:
            """There is nothing to end."""

        def swj_sequence(self, length: int, bits: int) -> None:
            """The port needs none."""

        def set_clock(self, frequency: float) -> None:
            """It has none."""

        def assert_reset(self, asserted: bool) -> None:
            if asserted:
                chip.target.reset()

        def is_reset_asserted(self) -> bool:
            return True

        def reset(self) -> None:
            chip.target.reset()

        def read_dp(self, addr: int, now: bool = True) -> Any:
            value = _DPIDR if addr & 0xC == 0 else chip.debug_port.read_port(addr & 0xC)
            return value if now else lambda: value

        def write_dp(self, addr: int, data: int) -> None:
            if addr & 0xC == 8:
                self._bank = data
            chip.debug_port.write_port(addr & 0xC, data)

        def read_ap(self, addr: int, now: bool = True) -> Any:
            value = 0 if self._bank >> 24 else chip.debug_port.read_access(addr & 0xFC)
            return value if now else lambda: value

        def write_ap(self, addr: int, data: int) -> None:
            chip.debug_port.write_access(addr & 0xFC, data)

        def read_ap_multiple(self, addr: int, count: int = 1, now: bool = True) -> Any:
            values = [self.read_ap(addr) for _ in range(count)]
            return values if now else lambda: values

        def write_ap_multiple(self, addr: int, values: Any) -> None:
            for value in values:
                self.write_ap(addr, value)

        def flush(self) -> None:
            """Everything was done at once."""

    return ModelProbe


if __name__ == "__main__":
    with RemoteBitbang(load_board("nucleo-f746")) as model:
        PROBE_CLASSES.clear()
        PROBE_CLASSES["model"] = probe_class(model)
        code = main(sys.argv[2:])
        Path(sys.argv[1]).write_bytes(model.target.content)
    sys.exit(code)
