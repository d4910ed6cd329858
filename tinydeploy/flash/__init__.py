"""Images onto real boards, through a debug probe. Emulated boards are ``tinydeploy.emulate``."""

from tinydeploy.flash.select import Flasher, flash_board, flasher_for

__all__ = ["Flasher", "flash_board", "flasher_for"]
