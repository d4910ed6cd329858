"""Runs the official runner's main.py as it is, in an interpreter that sees one port.

Usage: official_child.py MAIN PORT ARGUMENTS. The runner finds devices by their USB identity, which a pseudo
terminal has not, and imports drivers of power analysers that need not be installed.
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

USB_ID = (0x1209, 0x0001)


def show_port(port: str) -> None:
    """Let the listing of serial ports hold this one alone."""
    from serial.tools import list_ports

    vendor, product = USB_ID
    found = SimpleNamespace(device=port, vid=vendor, pid=product, description="tinydeploy", hwid="")

    def comports(_links: bool = False) -> list[Any]:
        return [found]

    list_ports.comports = comports


def stand_in_for_missing() -> None:
    """Empty modules for libraries of power analysers, which are not asked for and need not be installed."""
    usb, core = ModuleType("usb"), ModuleType("usb.core")
    core.find = lambda **_query: []  # type: ignore[attr-defined]
    usb.core = core  # type: ignore[attr-defined]
    sys.modules |= {"usb": usb, "usb.core": core}
    if importlib.util.find_spec("joulescope") is None:
        joulescope = ModuleType("joulescope")
        joulescope.scan = list  # type: ignore[attr-defined]
        sys.modules["joulescope"] = joulescope


def main() -> None:
    script, port, *arguments = sys.argv[1:]
    show_port(port)
    stand_in_for_missing()
    sys.path.insert(0, os.path.dirname(script))
    sys.argv = [script, *arguments]
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
