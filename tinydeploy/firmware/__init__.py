"""Firmware images: the runtime with a board's data, linked with a model into one ELF."""

from tinydeploy.firmware.build import RPC_LEVELS, Firmware, build_firmware, runtime_sources
from tinydeploy.firmware.fault import Fault, find_fault
from tinydeploy.firmware.image import Image, Segment, Sizes, read_image

__all__ = [
    "RPC_LEVELS",
    "Fault",
    "Firmware",
    "Image",
    "Segment",
    "Sizes",
    "build_firmware",
    "find_fault",
    "read_image",
    "runtime_sources",
]
