"""A model on a board: its firmware, the line to it, and what is asked over it."""

from tinydeploy.device.check import check_model, verify_device
from tinydeploy.device.image import Build, build_model
from tinydeploy.device.session import Source, connect

__all__ = ["Build", "Source", "build_model", "check_model", "connect", "verify_device"]
