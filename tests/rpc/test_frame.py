"""COBS, CRC-32 and frames: Python against C, byte for byte, and recovery after damage."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.rpc.device_board import Board
from tinydeploy.rpc.frame import FrameDecoder, cobs_bytes, cobs_decode, cobs_encode, encode_frame

# Zeros and long runs without one are where COBS can go wrong.
BODIES = st.lists(
    st.one_of(st.binary(max_size=40), st.integers(250, 258).map(lambda size: b"\x11" * size)), max_size=5
).map(b"\0".join)
LINES = st.lists(
    st.one_of(
        st.binary(max_size=60),
        BODIES.map(encode_frame),
        st.tuples(BODIES.map(encode_frame), st.integers(0, 30)).map(lambda cut: cut[0][cut[1] :]),
    ),
    max_size=6,
).map(b"".join)
with_board = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@pytest.mark.parametrize(
    ("body", "encoded"),
    [
        (b"", b"\x01"),
        (b"\0", b"\x01\x01"),
        (b"\x11\x22\x00\x33", b"\x03\x11\x22\x02\x33"),
        (b"\x11\x00\x00\x00", b"\x02\x11\x01\x01\x01"),
        (b"\x01" * 254, b"\xff" + b"\x01" * 254),
        (b"\x01" * 254 + b"\0", b"\xff" + b"\x01" * 254 + b"\x01\x01"),
        (b"\x01" * 255, b"\xff" + b"\x01" * 254 + b"\x02\x01"),
    ],
    ids=["empty", "zero", "inside", "zeros", "254", "254 and zero", "255"],
)
def test_cobs_of_the_paper(board: Board, body: bytes, encoded: bytes) -> None:
    assert cobs_encode(body) == encoded
    assert board.encode(body) == b"\0" + encoded + b"\0"
    assert cobs_decode(encoded) == body
    assert board.decode(encoded + b"\0", 1000) == [body]


@given(BODIES)
@with_board
def test_cobs_is_the_same_in_python_and_c(board: Board, body: bytes) -> None:
    encoded = cobs_encode(body)
    assert b"\0" not in encoded
    assert len(encoded) <= cobs_bytes(len(body))
    assert board.encode(body) == b"\0" + encoded + b"\0"
    assert cobs_decode(encoded) == body


@given(LINES)
@example(b"\xff" + b"\x01" * 254 + b"\0")
@example(b"\x05\x01\0\x01\0")
@with_board
def test_any_stream_decodes_the_same_in_python_and_c(board: Board, line: bytes) -> None:
    bodies = [cobs_decode(piece) for piece in line.split(b"\0")[:-1]]
    assert board.decode(line, 4000) == [body for body in bodies if body is not None]


@given(st.binary(max_size=300), st.binary(max_size=300))
@with_board
def test_crc_is_zlibs_and_continues(board: Board, first: bytes, second: bytes) -> None:
    assert board.crc32(0, first) == zlib.crc32(first)
    assert board.crc32(board.crc32(0, first), second) == zlib.crc32(first + second)


@given(st.lists(BODIES, max_size=5), st.integers(1, 50))
def test_frames_arrive_in_pieces_of_any_size(bodies: list[bytes], piece: int) -> None:
    line = b"".join(encode_frame(body) for body in bodies)
    decoder = FrameDecoder(2000)
    found = [body for at in range(0, len(line), piece) for body in decoder.feed(line[at : at + piece])]
    assert found == bodies


@given(BODIES, st.data())
def test_a_damaged_frame_costs_only_itself(body: bytes, data: st.DataObject) -> None:
    damaged = bytearray(encode_frame(body))
    at = data.draw(st.integers(0, len(damaged) - 1))
    damaged[at] ^= data.draw(st.integers(1, 255))
    decoder = FrameDecoder(2000)
    found = decoder.feed(bytes(damaged)) + decoder.feed(encode_frame(b"next"))
    assert found[-1] == b"next"
    assert set(found[:-1]) <= {body}


def test_a_longer_frame_than_allowed_is_skipped() -> None:
    decoder = FrameDecoder(10)
    assert decoder.feed(encode_frame(bytes(11)) + encode_frame(bytes(10))) == [bytes(10)]
    assert decoder.feed(b"\x7f" * 100_000 + encode_frame(b"ok")) == [b"ok"]


def test_the_device_skips_a_longer_body_than_its_buffer(board: Board) -> None:
    line = board.encode(bytes(11)) + board.encode(bytes(10))
    assert board.decode(line, 10) == [bytes(10)]
