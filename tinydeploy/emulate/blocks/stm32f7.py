"""Power of the STM32F7, the only thing in which its clock tree differs from the STM32F4's."""

from __future__ import annotations

from tinydeploy.emulate.blocks.stm32f4 import PwrOverdrive


class PwrF7(PwrOverdrive):
    """Power control of the STM32F74x and F75x (RM0385 section 4); overdrive is not for scale 3."""

    MAX_HZ = {  # noqa: RUF012
        1: (144_000_000, 144_000_000),
        2: (168_000_000, 180_000_000),
        3: (180_000_000, 216_000_000),
    }
    BUS_MAX_HZ = (45_000_000, 54_000_000)
