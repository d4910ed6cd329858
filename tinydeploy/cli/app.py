"""The application: its commands, and what happens to an error."""

from __future__ import annotations

import errno
import sys
from importlib.metadata import EntryPoint, entry_points

import typer

from tinydeploy import __version__
from tinydeploy.cli import (
    boards_command,
    build_command,
    compile_command,
    console,
    demo_command,
    doctor,
    export_command,
    flash_command,
    inspect_command,
    profile_command,
    quantize_command,
    run_command,
    update_command,
    verify_command,
)
from tinydeploy.errors import TinyDeployError

app = typer.Typer(
    name="tinydeploy",
    help="From a trained network to proved, bit-exact, self-contained C on a microcontroller.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        console.result({"version": __version__}, as_json=False, text=f"tinydeploy {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", callback=_show_version, is_eager=True
    ),
) -> None:
    """From a trained network to proved, bit-exact, self-contained C on a microcontroller."""


app.command("demo")(demo_command.demo)
app.command("inspect")(inspect_command.inspect)
app.command("quantize")(quantize_command.quantize)
app.command("compile")(compile_command.compile_)
app.command("run")(run_command.run)
app.command("verify")(verify_command.verify)
app.command("build")(build_command.build)
app.command("export")(export_command.export)
app.command("flash")(flash_command.flash)
app.command("update")(update_command.update)
app.command("profile")(profile_command.profile)
app.add_typer(boards_command.app, name="boards")
app.command("doctor")(doctor.doctor)


COMMANDS = "tinydeploy.commands"
"""The entry points under which other packages add commands: typer applications."""


def _add_commands(arguments: list[str]) -> None:
    """Add the commands of other packages: the one that is called, or all where none of them is."""
    found: dict[str, EntryPoint] = {entry.name: entry for entry in entry_points(group=COMMANDS)}
    called = next((argument for argument in arguments if not argument.startswith("-")), None)
    if called is None or called in found:
        for name, entry in found.items():
            if called in (None, name):
                app.add_typer(entry.load(), name=name)


def main() -> None:
    """Entry point. Exit codes: 0 done, 1 input, budget or device at fault, 2 usage, 3 the answer is no."""
    try:
        _add_commands(sys.argv[1:])
        app()
    except TinyDeployError as error:
        console.failure(error, as_json="--json" in sys.argv)
        sys.exit(error.exit_code)
    except OSError as error:
        where = str(error.filename or ("output" if error.errno == errno.ENOSPC else ""))
        fix = "Give another file or folder" if where else ""
        failed = TinyDeployError(error.strerror or str(error), where=where, fix=fix)
        console.failure(failed, as_json="--json" in sys.argv)
        sys.exit(failed.exit_code)
