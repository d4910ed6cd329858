"""A model on a board: its firmware, the line to it, and what is asked over it."""

from tinydeploy.device.check import check_model, verify_device
from tinydeploy.device.cycles import RunCost, can_sum_cycles, sum_cycles
from tinydeploy.device.image import Build, build_model
from tinydeploy.device.measure import Layer, Measurement, count_run, measure
from tinydeploy.device.session import Source, connect, emulated

__all__ = [
    "Build",
    "Layer",
    "Measurement",
    "RunCost",
    "Source",
    "build_model",
    "can_sum_cycles",
    "check_model",
    "connect",
    "count_run",
    "emulated",
    "measure",
    "sum_cycles",
    "verify_device",
]
