"""Where the data files of the package lie: in an installed wheel, or beside it in a checkout."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tinydeploy.errors import ToolError

PACKAGE = Path(__file__).resolve().parent


def runtime_dir() -> Path:
    """The folder of the C runtime (``runtime_c``); raises ToolError where the installation lacks it."""
    return _data_dir("runtime_c")


def boards_dir() -> Path:
    """The folder of the board files (``boards``); raises ToolError where the installation lacks it."""
    return _data_dir("boards")


def cache_dir() -> Path:
    """A folder of this user for results that can be made again; it exists.

    ``TINYDEPLOY_CACHE`` chooses it, else the platform's habit. A home directory that is missing or read-only
    leads to a folder under the system's temporary one, which only this user may write: libraries that are
    loaded lie there.
    """
    for base in _cache_candidates():
        try:
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(base, os.W_OK) and _is_private(base):
            return base
    raise ToolError("no writable folder for the cache", fix="Set TINYDEPLOY_CACHE to one")


def _is_private(folder: Path) -> bool:
    """False where another user could have put files there."""
    if not hasattr(os, "getuid"):
        return True
    status = folder.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def _data_dir(name: str) -> Path:
    for folder in (PACKAGE / "_data" / name, PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise ToolError(
        f"the folder {name} is missing from this installation",
        where=str(PACKAGE),
        fix="Reinstall with: pip install --force-reinstall tinydeploy",
    )


def _cache_candidates() -> tuple[Path, ...]:
    chosen = os.environ.get("TINYDEPLOY_CACHE")
    if chosen:
        return (Path(chosen),)
    if sys.platform == "win32":
        home = Path(os.environ.get("LOCALAPPDATA", os.path.expanduser("~")))
    else:
        home = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    user = str(os.getuid()) if hasattr(os, "getuid") else "user"
    return (home / "tinydeploy", Path(tempfile.gettempdir()) / f"tinydeploy-{user}")
