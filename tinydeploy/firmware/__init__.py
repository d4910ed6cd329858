"""Firmware images: the runtime with a board's data, linked with a model into one ELF."""

from tinydeploy.firmware.build import RPC_LEVELS, Firmware, build_firmware, runtime_sources
from tinydeploy.firmware.cycles import Block, Cost, cost_of
from tinydeploy.firmware.fault import Fault, FaultWatch, find_fault
from tinydeploy.firmware.image import Image, Segment, Sizes, read_image
from tinydeploy.firmware.stack import StackBound, check_stack, stack_bound

__all__ = [
    "RPC_LEVELS",
    "Block",
    "Cost",
    "Fault",
    "FaultWatch",
    "Firmware",
    "Image",
    "Segment",
    "Sizes",
    "StackBound",
    "build_firmware",
    "check_stack",
    "cost_of",
    "find_fault",
    "read_image",
    "runtime_sources",
    "stack_bound",
]
