"""What an emulator is to the rest of tinydeploy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Self

from tinydeploy.emulate.line import Line


class Emulator(ABC):
    """A chip that runs one firmware image, in this process or in another.

    ``kind`` is its name in board files; ``name`` tells a user which board and emulator this is.
    Use it in a ``with`` statement, or call ``stop``.
    """

    kind: str
    name: str

    @abstractmethod
    def start(self, elf: Path) -> None:
        """Load an image, as flash content, and let it run from reset.

        Raises ToolError where the emulator cannot run, TinyDeployError where the file is not an image.
        """

    @property
    @abstractmethod
    def uart(self) -> Line:
        """The board's serial line; it is a transport for ``rpc.Client``. Bytes wait until they are read."""

    @abstractmethod
    def instructions(self) -> int | None:
        """Instructions executed since ``start``, exact while the chip sleeps; None where nobody counts.

        QEMU does not count aloud: its firmware measures exact differences with ``td_counter``.
        """

    @abstractmethod
    def stop(self) -> None:
        """End the emulation and close the line; more than once is allowed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
