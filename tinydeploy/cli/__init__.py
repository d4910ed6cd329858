"""The command line: one module per command, one place for options, output and errors."""

from tinydeploy.cli.app import app, main

__all__ = ["app", "main"]
