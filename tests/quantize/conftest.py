"""Fixtures of the command line's tests, for the command that is tested here."""

from tests.cli.conftest import cli

__all__ = ["cli"]
