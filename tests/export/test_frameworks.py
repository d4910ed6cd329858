"""What board files say about other build systems reaches the exports; wrong values are told in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.export.metadata import espidf as espidf_rules
from tests.export.metadata import zephyr as zephyr_rules
from tests.export.metadata.tree import path_faults, text_faults, text_of
from tests.export.stub_build import project
from tinydeploy.boards import Board, all_boards, load_board
from tinydeploy.boards.board_file import load_board_file
from tinydeploy.errors import TinyDeployError
from tinydeploy.export import arduino, espidf, zephyr
from tinydeploy.export.formats import FORMATS

KNOWN = [board for board in all_boards() if board.frameworks.arduino or board.frameworks.zephyr]


@pytest.mark.parametrize("board", KNOWN, ids=lambda board: board.name)
def test_every_name_of_a_board_is_printable(board: Board) -> None:
    placed = replace(project("digits"), board=board)
    library = arduino.make(placed)
    if board.frameworks.arduino:
        assert f"--fqbn {':'.join(board.frameworks.arduino)} " in text_of(library, "README.md")
    module = zephyr.make(placed)
    if board.frameworks.zephyr:
        assert f"west build -b {board.frameworks.zephyr} samples" in text_of(module, "README.md")
    assert list(zephyr_rules.faults(module)) == []
    trees = [library, module]
    if board.frameworks.esp_idf:
        trees.append(espidf.make(placed))
        assert list(espidf_rules.faults(trees[-1])) == []
    for tree in trees:
        assert [*path_faults(tree), *text_faults(tree)] == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            'arduino = ["rp2040", "rpipico"]',
            "got ['rp2040', 'rpipico'], a package, an architecture and a board are allowed",
        ),
        ('arduino = "rp2040:rp2040:rpipico"', "got 'rp2040:rp2040:rpipico', a list is allowed"),
        ('esp_idf = "esp32 c3"', "framework.esp_idf: got 'esp32 c3', allowed: a word of letters"),
        ('west = "rpi_pico"', "framework.west: unknown key. Known here: "),
    ],
)
def test_a_wrong_name_is_refused(line: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(f'name = "mine"\ntitle = "mine"\nchip = "host"\ntier = "runs"\n[framework]\n{line}\n')
    with pytest.raises(TinyDeployError) as caught:
        load_board_file(file)
    assert message in str(caught.value)


def test_boards_without_the_table_are_exported_to_as_well() -> None:
    assert load_board("host").frameworks.arduino == ()
    assert set(FORMATS) >= {"arduino", "zephyr", "espidf", "cmsis-pack"}
