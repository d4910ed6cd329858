"""Where files are found, in a checkout and in an installed wheel, and where results are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tinydeploy import resources
from tinydeploy.errors import ToolError


def test_the_checkout_has_runtime_and_boards() -> None:
    assert (resources.runtime_dir() / "include" / "tinydeploy.h").is_file()
    assert (resources.boards_dir() / "nucleo-f746.toml").is_file()


def test_an_installed_wheel_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "_data" / "boards").mkdir(parents=True)
    monkeypatch.setattr(resources, "PACKAGE", tmp_path)
    assert resources.boards_dir() == tmp_path / "_data" / "boards"
    with pytest.raises(ToolError, match=r"the folder runtime_c is missing .*pip install --force-reinstall"):
        resources.runtime_dir()


def test_a_read_only_home_leads_to_a_private_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.delenv("TINYDEPLOY_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    found = resources.cache_dir()
    assert found.parent == tmp_path
    assert found.stat().st_mode & 0o777 == 0o700


def test_a_cache_that_others_can_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("TINYDEPLOY_CACHE", str(shared))
    with pytest.raises(ToolError, match=r"no writable folder for the cache\. Set TINYDEPLOY_CACHE to one"):
        resources.cache_dir()
