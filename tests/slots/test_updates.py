"""Updates over the line: what is sent, what is refused and why, and what an interrupted one leaves."""

from __future__ import annotations

import contextlib
import hashlib
import random
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from tests.rpc.conftest import library as library
from tests.rpc.device_board import Board
from tests.rpc.lines import DirectLine
from tests.slots.desk import Desk, DeskLine, Expected, build_desk, compiled, quantized, small
from tinydeploy.codegen import Layout
from tinydeploy.errors import DeviceError, TinyDeployError
from tinydeploy.rpc import Call, Client, RefusedError, Status
from tinydeploy.rpc.slots import (
    OWN,
    begin_update,
    commit_update,
    copy_slot,
    slots_info,
    write_slot,
)
from tinydeploy.slots import Known, Sign, difference, read_known, slot_head, update_model

ABI = 1
KEY = bytes(range(16))


def known(layout: Layout) -> Known:
    return Known(layout.hash, tuple(dict(part.facts) for part in layout.parts))


def payload_of(training: Expected) -> bytes:
    assert training.model.library.block is not None
    return training.model.library.block.payload


def layout_of(training: Expected) -> Layout:
    assert training.model.library.block is not None
    return training.model.library.block.layout


def head_of(training: Expected, own: Expected, counter: int = 1) -> bytes:
    return slot_head(training.model.library, ABI, own.hash, counter)


def refusal(call: object) -> int:
    """The status with which a call is refused."""
    assert callable(call)
    with pytest.raises(RefusedError) as error:
        call()
    return error.value.status


def test_the_slots_take_turns(desk: Desk, trainings: list[Expected]) -> None:
    own, second, third = trainings
    with desk.connect() as client:
        own.check(client)
        assert slots_info(client).active == OWN
        for counter, (model, slot) in enumerate([(second, 0), (third, 1), (own, 0), (second, 1)], 1):
            done = update_model(client, model.model)
            assert (done.after, done.counter) == (model.hash, counter)
            model.check(client)
            assert slots_info(client).active == slot
            assert desk.faults == 0
    desk.boot()
    with desk.connect() as client:
        second.check(client)


def test_the_description_follows_the_model(desk: Desk, trainings: list[Expected]) -> None:
    own, second, _ = trainings
    with desk.connect() as client:
        before = client.describe().inputs[0]
        update_model(client, second.model)
        after = client.describe().inputs[0]
    assert (round(1 / before.scale), before.zero_point) == (250, -128)
    assert (round(1 / after.scale), after.zero_point) == (251, -127)
    assert own.hash != second.hash


def test_the_same_model_is_not_sent_again(desk: Desk, trainings: list[Expected]) -> None:
    with desk.connect() as client:
        assert update_model(client, trainings[1].model).sent_bytes > 0
        desk.cut(0)
        assert update_model(client, trainings[1].model).sent_bytes == 0
        assert desk.operations == 0


def test_only_changed_blocks_are_sent(desk: Desk, trainings: list[Expected]) -> None:
    """A training whose last block alone differs."""
    own = trainings[0]
    block = own.model.library.block
    assert block is not None
    payload = block.payload[:-1] + bytes([block.payload[-1] ^ 1])
    library = replace(own.model.library, hash=f"{1:016x}", block=replace(block, payload=payload))
    other = replace(own.model, library=library)
    told: list[tuple[int, int]] = []
    with desk.connect() as client:
        done = update_model(client, other, progress=lambda at, total: told.append((at, total)))
        assert (done.blocks, done.changed_blocks) == (2, 1)
        assert done.sent_bytes == len(payload) - 1024
        assert client.describe().hash == 1
    assert told == [(1024, len(payload)), (len(payload), len(payload))]
    assert payload in desk.flash


def test_blocks_of_equal_checksum_are_sent_after_all(
    desk: Desk, trainings: list[Expected], monkeypatch: pytest.MonkeyPatch
) -> None:
    payload = payload_of(trainings[1])
    sums = [zlib.crc32(payload[at : at + 1024]) for at in range(0, len(payload), 1024)]
    monkeypatch.setattr("tinydeploy.slots.update.block_sums", lambda _client, _count: sums)
    with desk.connect() as client:
        assert update_model(client, trainings[1].model).changed_blocks == 2
        trainings[1].check(client)


def test_state_of_a_run_does_not_survive(desk: Desk, trainings: list[Expected]) -> None:
    with desk.connect() as client:
        client.write_inputs(trainings[0].samples[0])
        client.run()
        update_model(client, trainings[1].model)
        assert refusal(lambda: client.read_output(0)) == Status.NO_OUTPUT
        client.forget_description()


def test_what_does_not_belong_to_the_image(desk: Desk, trainings: list[Expected]) -> None:
    own, second, _ = trainings
    layout, size = layout_of(own).hash, len(payload_of(own))
    with desk.connect() as client:
        assert refusal(lambda: begin_update(client, 99, layout, size)) == Status.OTHER_ABI
        assert refusal(lambda: begin_update(client, ABI, layout ^ 1, size)) == Status.OTHER_LAYOUT
        assert refusal(lambda: begin_update(client, ABI, layout, size + 4)) == Status.OTHER_LAYOUT
        assert desk.operations == 0

        def send(head: bytes, payload: bytes = payload_of(second)) -> None:
            begin_update(client, ABI, layout, size)
            write_slot(client, 0, payload)
            commit_update(client, head)

        good = head_of(second, own)
        assert refusal(lambda: send(good[:20] + b"\0" + good[21:])) == Status.DAMAGED
        assert refusal(lambda: send(good, payload_of(own))) == Status.DAMAGED
        assert refusal(lambda: send(slot_head(second.model.library, 2, own.hash, 1))) == Status.OTHER_ABI
        assert refusal(lambda: send(slot_head(second.model.library, ABI, 5, 1))) == Status.OTHER_IMAGE
        assert refusal(lambda: send(good + b"x")) == Status.BAD_LENGTH
        assert refusal(lambda: send(good[:50])) == Status.BAD_LENGTH
        own.check(client)
        send(good)
        second.check(client)
        assert refusal(lambda: send(head_of(own, own, 1), payload_of(own))) == Status.OLD_COUNTER
        assert refusal(lambda: send(head_of(own, own, 0), payload_of(own))) == Status.OLD_COUNTER
        second.check(client)


def test_the_order_of_an_update(desk: Desk, trainings: list[Expected]) -> None:
    own, second, _ = trainings
    payload, layout = payload_of(second), layout_of(own).hash
    with desk.connect() as client:
        assert refusal(lambda: write_slot(client, 0, b"12345678")) == Status.NO_UPDATE
        assert refusal(lambda: commit_update(client, head_of(second, own))) == Status.NO_UPDATE
        begin_update(client, ABI, layout, len(payload))
        assert refusal(lambda: write_slot(client, 8, payload[8:16])) == Status.NO_UPDATE
        assert refusal(lambda: write_slot(client, 0, payload[:7])) == Status.OUT_OF_RANGE
        assert refusal(lambda: copy_slot(client, 0, len(payload) + 8)) == Status.OUT_OF_RANGE
        write_slot(client, 0, payload[:64])
        assert refusal(lambda: write_slot(client, 0, payload[:64])) == Status.NO_UPDATE
        assert refusal(lambda: commit_update(client, head_of(second, own))) == Status.NO_UPDATE
        begin_update(client, ABI, layout, len(payload))
        write_slot(client, 0, payload)
        assert refusal(lambda: write_slot(client, len(payload), b"12345678")) == Status.OUT_OF_RANGE
        client.reset_model()
        commit_update(client, head_of(second, own))
        second.check(client)
    assert desk.faults == 0


@pytest.mark.parametrize("call", [call for call in Call if call.name.startswith("SLOT_")])
def test_requests_of_any_length(call: Call, desk: Desk, trainings: list[Expected]) -> None:
    chance = random.Random(call)
    with desk.connect() as client:
        begin_update(client, ABI, layout_of(trainings[0]).hash, len(payload_of(trainings[0])))
        for size in (*range(24), 95, 96, 97, 200, 256):
            payload = chance.randbytes(size)
            with contextlib.suppress(RefusedError):
                client.call(call, payload)
        trainings[0].check(client)
    assert desk.faults == 0


def test_a_new_session_forgets_the_update(desk: Desk, trainings: list[Expected]) -> None:
    own, second, _ = trainings
    with desk.connect() as client:
        begin_update(client, ABI, layout_of(own).hash, len(payload_of(own)))
        write_slot(client, 0, payload_of(second))
    with desk.connect() as client:
        assert refusal(lambda: commit_update(client, head_of(second, own))) == Status.NO_UPDATE
        own.check(client)
        update_model(client, second.model)
        second.check(client)


@pytest.mark.parametrize("requests", range(1, 14))
def test_a_line_that_is_lost(requests: int, desk: Desk, trainings: list[Expected]) -> None:
    """After some requests nothing passes any more; a second attempt over another line succeeds."""
    own, second, _ = trainings
    left = [requests]

    def works() -> bool:
        left[0] -= 1
        return left[0] >= 0

    line = DeskLine(desk, works)
    lost = False
    try:
        with Client.connect(line, clock=line.clock) as client:
            update_model(client, second.model)
    except DeviceError as error:
        lost = "no answer to" in error.what
    assert lost
    with desk.connect() as client:
        own.check(client)
        update_model(client, second.model)
        second.check(client)


def test_flash_that_fails(desk: Desk, trainings: list[Expected]) -> None:
    own, second, _ = trainings
    with desk.connect() as client:
        desk.fail(fails=True)
        with pytest.raises(DeviceError, match="the flash memory reported an error") as error:
            update_model(client, second.model)
        assert error.value.fix == "The old model still runs. Start the update again"
        own.check(client)
        desk.fail(fails=False)
        update_model(client, second.model)
        second.check(client)


def test_signatures(desk: Desk, trainings: list[Expected]) -> None:
    """What the image's hook does not trust is not switched to, nor started."""
    own, second, third = trainings

    def sign(key: bytes) -> Sign:
        return lambda header: hashlib.sha256(header + key).digest()

    desk.trust(KEY)
    with desk.connect() as client:
        with pytest.raises(RefusedError, match="does not trust the model's signature"):
            update_model(client, second.model)
        with pytest.raises(RefusedError, match="does not trust the model's signature"):
            update_model(client, second.model, sign=sign(bytes(16)))
        own.check(client)
        update_model(client, second.model, sign=sign(KEY))
        second.check(client)
    desk.boot()
    with desk.connect() as client:
        second.check(client)
    desk.trust(bytes(16))
    desk.boot()
    with desk.connect() as client:
        own.check(client)
    with pytest.raises(
        TinyDeployError, match=r"the signature has 200 bytes, up to 160 of one length are allowed"
    ):
        slot_head(third.model.library, ABI, own.hash, 1, lambda _: bytes(200))


def test_an_image_with_another_own_model_starts_with_it(
    desk: Desk, trainings: list[Expected], tmp_path: Path
) -> None:
    """Slots are for the image that they were made for: what is flashed runs."""
    with desk.connect() as client:
        update_model(client, trainings[1].model)
    other = Desk(build_desk(trainings[2].model.library, tmp_path))
    other.flash = desk.flash
    other.boot()
    with other.connect() as client:
        trainings[2].check(client)
        update_model(client, trainings[1].model)
        trainings[1].check(client)


def test_the_newest_counter_wins_although_it_wraps(desk: Desk, trainings: list[Expected]) -> None:
    own, second, third = trainings
    layout, size = layout_of(own).hash, len(payload_of(own))
    with desk.connect() as client:
        for model, counter in ((second, 0xFFFFFFFF), (third, 0), (second, 1)):
            begin_update(client, ABI, layout, size)
            write_slot(client, 0, payload_of(model))
            commit_update(client, head_of(model, own, counter))
            desk.boot()
            client = desk.connect()
            model.check(client)
        assert slots_info(client).next_counter == 2
        client.close()


def test_an_image_without_slots_says_so(library: Path, trainings: list[Expected]) -> None:
    line = DirectLine(Board(library))
    with Client.connect(line, clock=line.clock) as client:
        with pytest.raises(DeviceError, match="holds no slots, so its model cannot be exchanged") as error:
            update_model(client, trainings[1].model)
        assert error.value.fix == "Build it with --slots, and flash it"
        with pytest.raises(RefusedError, match="the image was built without it") as refused:
            slots_info(client)
        assert refused.value.fix == "Build the image with --slots, and flash it"


def test_other_networks_are_refused_with_a_reason(
    desk: Desk, trainings: list[Expected], tmp_path: Path
) -> None:
    own = layout_of(trainings[0])
    sums = [part.crc for part in own.parts]
    clamped, larger, other = (
        compiled(model).library.block
        for model in (
            small(tmp_path, 0, activation="RELU6"),
            small(tmp_path, 0, classes=4),
            quantized(0),
        )
    )
    assert clamped is not None
    assert larger is not None
    assert other is not None
    told = known(own)
    assert difference(own, own.hash, sums, None) is None
    assert difference(clamped.layout, own.hash, sums, told) == (
        "step 0 (Conv2D 'tensor_3'): the clamp -128..22 is compiled into code, the device has -128..127"
    )
    assert difference(clamped.layout, own.hash, sums, None) == (
        "step 0 (Conv2D 'tensor_3'): it compiles to other code than the device has"
    )
    assert difference(larger.layout, own.hash, sums, told) == (
        "the interface: output 0 int8[1, 4] is compiled into code, the device has int8[1, 3]"
    )
    assert "the interface: input 0" in str(difference(other.layout, own.hash, sums, told))
    assert difference(own, 5, sums, None) == (
        "it is generated otherwise as a whole, as by another version of tinydeploy"
    )
    with (
        desk.connect() as client,
        pytest.raises(DeviceError, match="net cannot run in the image on the device"),
    ):
        update_model(client, compiled(small(tmp_path, 0, classes=4)))


def test_the_file_beside_an_image(tmp_path: Path, trainings: list[Expected]) -> None:
    elf = tmp_path / "net.elf"
    assert read_known(elf) is None
    path = tmp_path / "net.slots.json"
    path.write_text(layout_of(trainings[0]).to_json())
    assert read_known(elf) == known(layout_of(trainings[0]))
    path.write_text('{"layout": "12"}')
    with pytest.raises(TinyDeployError, match="is not a layout that build wrote"):
        read_known(elf)


def test_sha256(desk: Desk) -> None:
    chance = random.Random(3)
    for size in (*range(130), 1000, 4095):
        data = chance.randbytes(size)
        assert desk.sha256(data) == hashlib.sha256(data).digest()
