"""Models of IP blocks. Chip files name types; this table says which model stands for each."""

from collections.abc import Callable

from tinydeploy.boards import Block
from tinydeploy.emulate.blocks import imxrt, nrf52, rp2040
from tinydeploy.emulate.blocks.base import Model, RegisterFile, Wires
from tinydeploy.emulate.blocks.pl011 import Pl011
from tinydeploy.emulate.blocks.scs import Scs
from tinydeploy.emulate.blocks.stm32 import Flash, Gpio, GpioV1, Pwr, Rcc
from tinydeploy.emulate.blocks.stm32f1 import RccF100
from tinydeploy.emulate.blocks.stm32f4 import PwrF40x, PwrF446, RccPllcfgr
from tinydeploy.emulate.blocks.stm32f7 import PwrF7
from tinydeploy.emulate.blocks.stm32g0 import FlashG0, PwrG0, RccG0
from tinydeploy.emulate.blocks.stm32h7 import Axi, FlashH7, PwrH7, PwrH7a3, RccH7, RccH7a3
from tinydeploy.emulate.blocks.stm32l4 import PwrL4, RccL4
from tinydeploy.emulate.blocks.stm32u5 import Icache, PwrU5, RccU5
from tinydeploy.emulate.blocks.timers import CmsdkTimer, Dwt, StTimer32
from tinydeploy.emulate.blocks.uarts import CmsdkUart, StLpuart, StUsartV1, StUsartV2

MODELS: dict[str, Callable[[Block, Wires], Model]] = {
    "arm_pl011": Pl011,
    "armv6m_scs": Scs,
    "armv7m_dwt": Dwt,
    "armv7m_scs": Scs,
    "armv8m_scs": Scs,
    "cmsdk_timer": CmsdkTimer,
    "cmsdk_uart": CmsdkUart,
    "imxrt_ccm": imxrt.Ccm,
    "imxrt_ccm_analog": imxrt.CcmAnalog,
    "imxrt_gpio": imxrt.Gpio,
    "imxrt_iomuxc": imxrt.Iomuxc,
    "nrf51_uart": nrf52.Uart,
    "nrf52_clock": nrf52.Clock,
    "nrf52_gpio": nrf52.Gpio,
    "nrf52_nvmc": nrf52.Nvmc,
    "nxp_lpuart": imxrt.Lpuart,
    "rp2040_clocks": rp2040.Clocks,
    "rp2040_gpio": rp2040.Gpio,
    "rp2040_pads": RegisterFile,
    "rp2040_pll": rp2040.Pll,
    "rp2040_resets": rp2040.Resets,
    "rp2040_sio": rp2040.Sio,
    "rp2040_timer": rp2040.Timer,
    "rp2040_watchdog": rp2040.Watchdog,
    "rp2040_xosc": rp2040.Xosc,
    "rp2350_clocks": rp2040.Clocks2350,
    "rp2350_gpio": rp2040.Gpio,
    "rp2350_pads": rp2040.Pads2350,
    "rp2350_resets": rp2040.Resets2350,
    "rp2350_sio": rp2040.Sio2350,
    "st_axi_h7": Axi,
    "st_flash_f4": Flash,
    "st_flash_f7": Flash,
    "st_flash_g0": FlashG0,
    "st_flash_h7": FlashH7,
    "st_flash_h7a3": FlashH7,
    "st_flash_l4": Flash,
    "st_flash_u5": Flash,
    "st_gpio_v1": GpioV1,
    "st_gpio_v2": Gpio,
    "st_icache": Icache,
    "st_iwdg": RegisterFile,
    "st_lpuart": StLpuart,
    "st_pwr_f40x": PwrF40x,
    "st_pwr_f446": PwrF446,
    "st_pwr_f7": PwrF7,
    "st_pwr_g0": PwrG0,
    "st_pwr_h7": PwrH7,
    "st_pwr_h7a3": PwrH7a3,
    "st_pwr_l4": PwrL4,
    "st_pwr_u5": PwrU5,
    "st_rcc_f100": RccF100,
    "st_rcc_f4": RccPllcfgr,
    "st_rcc_f7": RccPllcfgr,
    "st_rcc_g0": RccG0,
    "st_rcc_h7": RccH7,
    "st_rcc_h7a3": RccH7a3,
    "st_rcc_l4": RccL4,
    "st_rcc_u5": RccU5,
    "st_timer32": StTimer32,
    "st_usart_v1": StUsartV1,
    "st_usart_v2": StUsartV2,
}

__all__ = [
    "MODELS",
    "CmsdkTimer",
    "CmsdkUart",
    "Dwt",
    "Flash",
    "Gpio",
    "GpioV1",
    "Model",
    "Pwr",
    "Rcc",
    "RegisterFile",
    "Scs",
    "StLpuart",
    "StTimer32",
    "StUsartV1",
    "StUsartV2",
    "Wires",
]
