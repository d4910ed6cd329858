"""The power fails within every operation of an update; the old model runs afterwards, or the new one."""

from __future__ import annotations

import random

import pytest

from tests.slots.desk import Desk, Expected, build_desk
from tinydeploy.errors import DeviceError
from tinydeploy.slots import update_model


@pytest.fixture(scope="module", params=[4, 32], ids=lambda unit: f"{unit}-byte-units")
def desk(
    request: pytest.FixtureRequest, trainings: list[Expected], tmp_path_factory: pytest.TempPathFactory
) -> Desk:
    return Desk(build_desk(trainings[0].model.library, tmp_path_factory.mktemp("desk"), request.param))


def runs(desk: Desk, *models: Expected) -> Expected:
    """Switch the device on; the one of the models that it runs, checked bit by bit."""
    desk.boot()
    with desk.connect() as client:
        found = client.describe().hash
        (model,) = [model for model in models if model.hash == found]
        model.check(client)
    return model


def update(desk: Desk, model: Expected, cut_at: int = 0, seed: int = 1) -> bool:
    """Whether an update ended; False where the power failed before."""
    with desk.connect() as client:
        desk.cut(cut_at, seed)
        try:
            update_model(client, model.model)
        except DeviceError:
            return False
    return True


@pytest.mark.parametrize("first", [True, False], ids=["the-image-runs", "slot-0-runs"])
def test_at_every_operation(desk: Desk, trainings: list[Expected], first: bool) -> None:
    own, second, third = trainings
    desk.flash = random.Random(1).randbytes(len(desk.flash))
    desk.boot()
    old, new = (own, second) if first else (second, third)
    if not first:
        assert update(desk, second)
    before = desk.flash
    assert update(desk, new)
    total = desk.operations
    seen = []
    for cut_at in range(1, total + 1):
        desk.flash = before
        desk.boot()
        assert not update(desk, new, cut_at, cut_at)
        seen.append(runs(desk, old, new) is new)
        assert update(desk, new)
        assert runs(desk, new) is new
    assert total > 40
    assert not any(seen[:-1])  # the header's last unit makes the slot valid, whatever its torn bits are
    assert desk.faults == 0


def test_again_and_again(desk: Desk, trainings: list[Expected]) -> None:
    """Cut updates of alternating models, most of which never end."""
    chance = random.Random(2)
    desk.flash = b"\xff" * len(desk.flash)
    running = runs(desk, *trainings)
    for _ in range(60):
        new = chance.choice([model for model in trainings if model is not running])
        ended = update(
            desk, new, chance.randrange(1, 90 if chance.random() < 0.5 else 700), chance.getrandbits(32)
        )
        found = runs(desk, running, new)
        assert found is new or not ended
        running = found
    assert desk.faults == 0
