"""One board and three trainings of its network for all tests of a worker."""

from __future__ import annotations

import pytest

from tests.slots.desk import Desk, Expected, build_desk, compiled, small


@pytest.fixture(scope="session")
def trainings(tmp_path_factory: pytest.TempPathFactory) -> list[Expected]:
    """The first is the image's own model."""
    folder = tmp_path_factory.mktemp("trainings")
    return [Expected(compiled(small(folder, seed))) for seed in range(3)]


@pytest.fixture(scope="session")
def powered_desk(trainings: list[Expected], tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(build_desk(trainings[0].model.library, tmp_path_factory.mktemp("desk")))


@pytest.fixture
def desk(powered_desk: Desk) -> Desk:
    """The board as it comes from the factory."""
    powered_desk.flash = b"\xff" * len(powered_desk.flash)
    powered_desk.fail(fails=False)
    powered_desk.trust(None)
    powered_desk.boot()
    return powered_desk
