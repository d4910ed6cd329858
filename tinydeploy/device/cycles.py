"""The class-cycle sum of a run: the image in our emulator, which tells the blocks that were executed."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tinydeploy.boards import Board
from tinydeploy.errors import ToolError
from tinydeploy.firmware import Cost, cost_of, read_image
from tinydeploy.firmware.cycles import TABLES
from tinydeploy.rpc import Client, profile
from tinydeploy.verify.samples import Sample


@dataclass(frozen=True, slots=True)
class RunCost:
    """The cost of one run, from the entry of ``NAME_run`` to its return, and of each of its steps."""

    run: Cost
    steps: tuple[Cost, ...]


def can_sum_cycles(board: Board) -> bool:
    """Whether there is a table of costs for the board's core, and an emulator that tells what is executed."""
    emulated = any(choice.kind == "unicorn" for choice in board.emulators)
    return emulated and board.chip.cpu in TABLES and importlib.util.find_spec("unicorn") is not None


def sum_cycles(
    board: Board,
    elf: Path,
    prefix: str,
    warm_up: Sequence[Sample],
    sample: Sample,
    *,
    by_step: bool = True,
) -> RunCost:
    """Run an image over ``warm_up``, then price its run over ``sample``, and its steps where asked to.

    ``prefix`` is the model's C prefix. Raises ToolError where the emulator or its compiler is missing.
    """
    from tinydeploy.emulate.chip import BlockTrace, UnicornEmulator  # unicorn is an optional dependency

    image = read_image(elf)
    for name in (f"{prefix}_run", f"{prefix}_step"):
        if name not in image.symbols:
            raise ToolError(f"the image has no function {name}", where=str(elf))
    trace = BlockTrace()
    with UnicornEmulator(board, attachment=trace) as emulator:
        emulator.start(elf)
        with Client.connect(emulator.uart) as client:
            for past in warm_up:
                client.infer(past)
            trace.begin(image.symbols[f"{prefix}_run"])
            client.infer(sample)
            (run,) = trace.windows()
            trace.begin(image.symbols[f"{prefix}_step"])
            if by_step:
                profile(client, sample, warm_up[-1:])
            steps = trace.windows()
    table = TABLES[board.chip.cpu]
    return RunCost(cost_of(image, run, table), tuple(cost_of(image, blocks, table) for blocks in steps))
