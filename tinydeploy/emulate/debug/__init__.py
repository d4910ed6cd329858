"""A chip model as a debug probe sees it: JTAG, debug port, memory, a core that halts, programmable flash."""

from tinydeploy.emulate.debug.port import DebugPort
from tinydeploy.emulate.debug.tap import BypassTap, Chain
from tinydeploy.emulate.debug.target import DebugTarget

__all__ = ["BypassTap", "Chain", "DebugPort", "DebugTarget"]
