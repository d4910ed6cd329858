"""Models of IP blocks. Chip files name types; this table says which model stands for each."""

from collections.abc import Callable

from tinydeploy.boards import Block
from tinydeploy.emulate.blocks.base import Model, RegisterFile, Wires
from tinydeploy.emulate.blocks.scs import Scs
from tinydeploy.emulate.blocks.stm32f7 import Flash, Gpio, Pwr, Rcc
from tinydeploy.emulate.blocks.timers import CmsdkTimer, Dwt
from tinydeploy.emulate.blocks.uarts import CmsdkUart, StUsartV2

MODELS: dict[str, Callable[[Block, Wires], Model]] = {
    "armv7m_dwt": Dwt,
    "armv7m_scs": Scs,
    "cmsdk_timer": CmsdkTimer,
    "cmsdk_uart": CmsdkUart,
    "st_flash_f7": Flash,
    "st_gpio_v2": Gpio,
    "st_pwr_f7": Pwr,
    "st_rcc_f7": Rcc,
    "st_usart_v2": StUsartV2,
}

__all__ = [
    "MODELS",
    "CmsdkTimer",
    "CmsdkUart",
    "Dwt",
    "Flash",
    "Gpio",
    "Model",
    "Pwr",
    "Rcc",
    "RegisterFile",
    "Scs",
    "StUsartV2",
    "Wires",
]
