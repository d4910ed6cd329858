"""``boards new``: manifests, devicetrees and linker scripts become board files that load, build and run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.conftest import cli as cli  # the fixture
from tinydeploy import demo
from tinydeploy.boards import Board, Chip, Kind, all_boards, load_board
from tinydeploy.boards.new import Draft, draft_from, read_facts, write_draft
from tinydeploy.boards.new.board_draft import draft_board
from tinydeploy.boards.new.chips import find_chip, known_chips
from tinydeploy.boards.new.dts import Reference, parse_dts
from tinydeploy.boards.new.facts import Facts, Memory
from tinydeploy.boards.new.words import MARK, title
from tinydeploy.emulate import available_emulators
from tinydeploy.errors import TinyDeployError
from tinydeploy.firmware.render import render_board

FILES = Path(__file__).parent / "new"


def facts_of(tmp_path: Path, name: str, text: str) -> Facts:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_facts(path)


def written(source: str, output: Path, **options: str | None) -> tuple[Draft, Board]:
    """A draft that lacks nothing, written and loaded."""
    given = {"name": None, "chip": None, "cpu": None, **options}
    draft = draft_from(FILES / source, output, given["name"], given["chip"], given["cpu"])
    assert draft.missing == ()
    write_draft(draft, output, force=False)
    return draft, load_board(output)


class TestManifest:
    def test_a_board_of_ours_is_recognised(self, tmp_path: Path) -> None:
        draft, board = written("nucleo_f746zg.json", tmp_path / "mine.toml")
        ours = load_board("nucleo-f746")
        assert (draft.taken_from, draft.reason) == ("nucleo-f746", "by its name")
        assert (board.name, board.chip.name) == ("mine", "stm32f746zg")
        assert (board.uart, board.pins, board.clock, board.signals, board.emulators) == (
            *(ours.uart, ours.pins, ours.clock, ours.signals, ours.emulators),
        )

    @pytest.mark.parametrize(
        ("file", "chip", "same"),
        [
            ("nano33ble.json", "nrf52840-sam-ba", "arduino-nano-33-ble"),
            ("esp32-c3-devkitm-1.json", "esp32c3", "esp32-c3-devkitm-1"),
            ("uno.json", "atmega328p", "arduino-uno"),
        ],
    )
    def test_others_too(self, file: str, chip: str, same: str, tmp_path: Path) -> None:
        if same not in {board.name for board in all_boards()}:
            pytest.skip(f"there is no board {same}")
        draft, board = written(file, tmp_path / "mine.toml")
        assert (draft.chip, draft.taken_from) == (chip, same)
        assert board.uart == load_board(same).uart

    def test_a_chip_that_we_lack_becomes_a_draft_with_marks(self, tmp_path: Path) -> None:
        facts = read_facts(FILES / "bluepill_f103c8.json")
        others = [chip for chip in known_chips() if not chip.name.startswith("stm32f103")]
        draft = draft_board(facts, find_chip(facts, others), "pill", all_boards(), "pill.toml")
        assert draft.chip == "stm32f103c8t6"
        assert [(lack.file, lack.key) for lack in draft.missing] == [
            ("chips/stm32f103c8t6.toml", "reset_hz"),
            ("chips/stm32f103c8t6.toml", "interrupts"),
            ("chips/stm32f103c8t6.toml", "block"),
            ("pill.toml", "uart"),
        ]
        assert (draft.board_text + draft.chip_text).count(f"# {MARK}: ") == 4
        assert "72,000,000 Hz later" in draft.chip_text
        assert "target/stm32f1x.cfg" in draft.notes[0]
        write_draft(draft, tmp_path / "pill.toml", force=False)
        with pytest.raises(TinyDeployError, match=r"stm32f103c8t6\.toml: reset_hz: this key is missing"):
            load_board(tmp_path / "pill.toml")

    def test_a_filled_draft_loads(self, tmp_path: Path) -> None:
        facts = read_facts(FILES / "bluepill_f103c8.json")
        draft = draft_board(facts, None, "pill", (), "pill.toml")
        chip = draft.chip_text.replace("# reset_hz", "reset_hz").replace("# interrupts", "interrupts")
        for line in ("[[block]]", 'name = "uart"', 'type = "..."', "base = 0x40000000", "irq = 0"):
            chip = chip.replace(f"# {line}", line)
        board = draft.board_text
        for line in ("[uart]", 'block = "uart"', "baud = 115200"):
            board = board.replace(f"# {line}", line)
        chip = chip.replace('"..."', '"st_usart_v1"')
        write_draft(replace(draft, board_text=board, chip_text=chip), tmp_path / "pill.toml", force=False)
        loaded = load_board(tmp_path / "pill.toml")
        assert [(region.name, region.origin, region.size) for region in loaded.chip.regions] == [
            ("FLASH", 0x08000000, 64 << 10),
            ("RAM", 0x20000000, 20 << 10),
        ]

    def test_a_chip_for_export_only_needs_nothing_more(self, tmp_path: Path) -> None:
        facts = read_facts(FILES / "uno.json")
        draft = draft_board(facts, None, "uno", (), "uno.toml")
        assert draft.missing == ()
        write_draft(draft, tmp_path / "uno.toml", force=False)
        assert load_board(tmp_path / "uno.toml").tier.value == "library"

    FAULTS = (
        ("[1, 2", r":1: is not valid JSON: .*\. Give the manifest whole"),
        ("{}", r": has no table 'build', so it is no board manifest\. Give a boards/ID\.json"),
        ('{"build": {"mcu": "a b"}}', r": build\.mcu: got 'a b', letters, digits and \._- are allowed"),
        ('{"build": {"f_cpu": "fast"}}', r": build\.f_cpu: got 'fast', a whole number below 2\^32"),
        ('{"build": {"mcu": 7}}', r": build\.mcu: got 7, a text is allowed\. Correct the manifest"),
    )

    @pytest.mark.parametrize(("text", "message"), FAULTS)
    def test_faults_name_the_key(self, text: str, message: str, tmp_path: Path) -> None:
        with pytest.raises(TinyDeployError, match=message):
            facts_of(tmp_path, "board.json", text)


class TestDevicetree:
    def test_a_nucleo(self, tmp_path: Path) -> None:
        draft, board = written("nucleo_f746zg.dts", tmp_path / "mine.toml")
        ours = load_board("nucleo-f746")
        assert draft.taken_from == ""
        assert board.chip.name == "stm32f746zg"
        assert (board.uart, board.pins, board.clock) == (ours.uart, ours.pins, ours.clock)
        assert board.title == "STMicroelectronics STM32F746ZG-NUCLEO board"

    def test_a_riscv_board_with_a_chip_of_its_own(self, tmp_path: Path) -> None:
        draft, board = written("riscv.dts", tmp_path / "mine.toml")
        chip = board.chip
        assert (draft.chip, chip.cpu, chip.interrupts, board.clock_hz) == (
            *("rv32-soc", "rv32imc", 54, 1_000_000_000),
        )
        assert [(region.name, region.origin, region.size, region.kind) for region in chip.regions] == [
            ("flash0", 0x20000000, 32 << 20, Kind.FLASH),
            ("ram0", 0x80000000, 16 << 20, Kind.RAM),
        ]
        uart = chip.block("uart0")
        assert (uart.type, uart.base, uart.irq) == ("ns16550", 0x10000000, 10)
        assert chip.block("interrupts").type == "riscv_plic"
        assert board.clock is not None
        assert board.clock.bus_hz == {"serial": 3_686_400}

    def test_what_cannot_be_known_is_listed(self, tmp_path: Path) -> None:
        text = (FILES / "riscv.dts").read_text().replace('"ns16550"', '"acme,uart"')
        facts = facts_of(tmp_path, "zephyr.dts", text)
        draft = draft_board(facts, None, "mine", (), "mine.toml")
        assert [lack.key for lack in draft.missing] == ["block"]
        assert "which driver fits acme,uart: " in draft.missing[0].what

    def test_the_language(self, tmp_path: Path) -> None:
        tree = parse_dts(
            tmp_path / "a.dts",
            """/dts-v1/;
            /memreserve/ 0x0 0x1000;
            // a comment
            / { #address-cells = <1>; a: b: node@1 { reg = <0x1 (2 + 3 * (1 << 4))>, <'A' 010>;
                  names = "one", "t\\"wo"; raw = [00 ff 1A]; half = /bits/ 16 <1 2>; flag; path = &c; };
                c: other { x = <&a 7 &{/node@1}>; gone = <1>; /delete-property/ gone; };
                d: dead { e: inner {}; }; };
            &a { added = <1>; status = "disabled"; };
            /delete-node/ &d;
            / { node@1 { late; }; };
            """,
        )
        node = tree.labels["b"]
        assert node is tree.labels["a"]
        assert node.numbers("reg") == (1, 50, 65, 8)
        assert node.strings("names") == ("one", 't"wo')
        assert node.values["raw"] == (b"\x00\xff\x1a",)
        assert (node.numbers("half"), node.values["flag"], node.is_enabled) == ((1, 2), (), False)
        assert {"added", "late"} <= node.values.keys()
        assert tree.labels["c"].cells("x") == (Reference("a"), 7, Reference("{/node@1}"))
        assert "gone" not in tree.labels["c"].values
        assert tree.labels.keys() == {"a", "b", "c"}
        assert tree.follow(node.values["path"][0]) is tree.labels["c"]
        assert tree.find("/node") is node

    FAULTS = (
        ('/ { a = "x', r":1: unexpected a comment or a text that does not end"),
        ("/ {\n a = <1\n", r":3: the file ends in the middle"),
        ("/ { a = 5; };", r":1: got '5' where a value is allowed: \"text\", <cells>, \[bytes\] or &label"),
        ("/ {\n\na = <1>\n};", r":4: got '}', ',' is missing"),
        (
            "#include <x.dtsi>\n/ {};",
            r":1: holds '#include', which the C preprocessor .* Give the zephyr\.dts",
        ),
        ('/include/ "a.dtsi"\n', r":1: /include/ is not followed"),
        ("&nobody { };", r":1: &nobody is no node of this file"),
        ("/ { a = <(1 / 0)>; };", r":1: division by zero"),
        ("/ { a = [0g]; };", r":1: \[0g\] are no hexadecimal bytes"),
        ("/ { /delete-node/ x; };", r":1: x is no node here, so it cannot be deleted"),
        ("/ { " + "a {" * 70, r":1: nodes lie more than 64 deep"),
        ("/ { a = <" + "(" * 70 + "1>; };", r":1: brackets lie more than 64 deep"),
        ("hello", r":1: got 'hello' where a node is allowed: / or &label"),
    )

    @pytest.mark.parametrize(("text", "message"), FAULTS)
    def test_faults_name_the_line(self, text: str, message: str, tmp_path: Path) -> None:
        with pytest.raises(TinyDeployError, match=message):
            facts_of(tmp_path, "zephyr.dts", text)

    def test_addresses_go_through_ranges(self, tmp_path: Path) -> None:
        text = (FILES / "nucleo_f746zg.dts").read_text()
        moved = text.replace("\t\tranges;", "\t\tranges = < 0x0 0x40000000 0x10000000 >;")
        moved = moved.replace("reg = < 0x40004800 0x400 >", "reg = < 0x4800 0x400 >")
        serial = facts_of(tmp_path, "zephyr.dts", moved).serial
        assert serial is not None
        assert serial.base == 0x40004800
        with pytest.raises(TinyDeployError, match=r"ranges of soc is not a multiple of 3 cells"):
            facts_of(tmp_path, "zephyr.dts", text.replace("\t\tranges;", "\t\tranges = < 0x0 0x1 >;"))
        with pytest.raises(
            TinyDeployError, match=r"reg of flash@8000000 has 1 cells, its parent asks for 1 and 1"
        ):
            facts_of(tmp_path, "zephyr.dts", text.replace("< 0x8000000 0x100000 >", "< 0x8000000 >"))


class TestLinkerScript:
    def test_memories(self) -> None:
        facts = read_facts(FILES / "stm32f746zg.ld")
        assert facts.memories == (
            Memory("ITCM_RAM", Kind.RAM, 16 << 10, 0),
            Memory("FLASH", Kind.FLASH, 1 << 20, 0x08000000),
            Memory("RAM", Kind.RAM, 320 << 10, 0x20000000),
        )
        assert (facts.code, facts.data) == ("FLASH", "RAM")

    def test_a_chip_by_its_memories_needs_the_core(self, tmp_path: Path) -> None:
        draft = draft_from(FILES / "stm32f746zg.ld", tmp_path / "mine.toml", None, None, "cortex-m7")
        assert (draft.chip, draft.chip_text) == ("stm32f746zg", "")
        assert draft.reason == "by its core and its memories alone: make sure that it is the one on the board"
        assert [lack.key for lack in draft.missing] == ["uart", "pin"]
        unsure = draft_from(FILES / "stm32f746zg.ld", tmp_path / "mine.toml", None, None, None)
        assert unsure.chip == "mine-chip"
        assert unsure.missing[0].key == "cpu"
        assert unsure.notes == ("the memories are those of stm32f746zg: give --chip, or the core with --cpu",)
        told = draft_from(FILES / "stm32f746zg.ld", tmp_path / "mine.toml", None, "stm32f746zg", None)
        assert (told.chip, told.reason) == ("stm32f746zg", "as asked for")

    @pytest.mark.parametrize("board", ["nucleo-f746", "bbc-microbit-v1", "qemu-m4", "qemu-rv32"])
    def test_our_own_scripts_say_what_we_know(self, board: str, tmp_path: Path) -> None:
        ours = load_board(board)
        assert ours.chip.layout is not None
        render_board(ours, ours.chip.layout.data, tmp_path)
        facts = read_facts(tmp_path / "board.ld")
        regions = [r for r in ours.chip.regions if r.view_of is None]
        assert {(m.name, m.origin, m.size, m.kind) for m in facts.memories} == {
            (r.name, r.origin, r.size, r.kind) for r in regions
        }
        assert (facts.code, facts.data) == (ours.chip.layout.code, ours.chip.layout.data)

    @pytest.mark.parametrize(
        ("line", "memory"),
        [
            ("ROM : o = 0x0, l = 8 * 1024", ("ROM", Kind.FLASH, 0, 8192)),
            ("DTCM : ORIGIN = 0x20000000 LENGTH = 0x8000 / 2", ("DTCM", Kind.RAM, 0x20000000, 0x4000)),
            ("X (!w) : ORIGIN = MAX(1, 2) - 2, LENGTH = 1 ? 2M : 1", None),
            ("X (rx) : ORIGIN = (1 | 6) & ~7, LENGTH = DEFINED(q) ? 1 : 4K", ("X", Kind.FLASH, 0, 4096)),
        ],
    )
    def test_spellings(self, line: str, memory: tuple[str, Kind, int, int] | None, tmp_path: Path) -> None:
        text = f"MEMORY {{ {line} }}"
        if memory is None:
            with pytest.raises(TinyDeployError, match=r"whether X is flash or RAM cannot be told"):
                facts_of(tmp_path, "a.ld", text)
            return
        (found,) = facts_of(tmp_path, "a.ld", text).memories
        assert (found.name, found.kind, found.origin, found.size) == memory

    FAULTS = (
        (
            "MEMORY {\n A (rx) : ORIGIN = start, LENGTH = 1K }",
            r":2: 'start' has no value in this file\. Write",
        ),
        ("MEMORY {\n A (rx) : SIZE = 1 }", r":2: got 'SIZE', ORIGIN or LENGTH is allowed"),
        ("MEMORY { A (rx) : ORIGIN = 0 }", r":1: got '}', ORIGIN or LENGTH is allowed"),
        ("MEMORY { A (rx) : ORIGIN = LENGTH(B), LENGTH = 1 }", r":1: the region 'B' is not defined before"),
        (
            "MEMORY { A (rx) : ORIGIN = 0, LENGTH = 1 << 40 }",
            r":1: A needs an ORIGIN and a LENGTH below 4 GiB",
        ),
        ("MEMORY { A (rx) : ORIGIN = 089, LENGTH = 1 }", r":1: '089' is no octal number"),
        ("\nINCLUDE memory.ld\nMEMORY {}", r":2: INCLUDE memory\.ld is not followed\. Give the file"),
        ("MEMORY { /* never ends", r":1: unexpected a comment or a text that does not end"),
        ("SECTIONS { .text : { *(.text) } }", r"a\.ld: has no MEMORY block"),
    )

    @pytest.mark.parametrize(("text", "message"), FAULTS)
    def test_faults_name_the_line(self, text: str, message: str, tmp_path: Path) -> None:
        with pytest.raises(TinyDeployError, match=message):
            facts_of(tmp_path, "a.ld", text)

    def test_overlaps_are_left_out(self, tmp_path: Path) -> None:
        text = "MEMORY { A (rx) : ORIGIN = 0, LENGTH = 4K\n B (rw) : ORIGIN = 1K, LENGTH = 1K }"
        facts = facts_of(tmp_path, "a.ld", text)
        assert facts.notes == ("B overlaps A and is left out",)
        assert [memory.name for memory in facts.memories] == ["A"]


class TestMatching:
    def chips(self) -> list[Chip]:
        return list(known_chips())

    def facts(self, part: str, cpu: str, flash_kib: int, ram_kib: int) -> Facts:
        memories = (
            Memory("FLASH", Kind.FLASH, flash_kib << 10, 0x08000000, is_assumed=True),
            Memory("RAM", Kind.RAM, ram_kib << 10, 0x20000000, is_assumed=True),
        )
        return Facts(Path("a"), "a manifest", parts=(part,) if part else (), cpu=cpu, memories=memories)

    def test_another_package_is_the_same_chip(self) -> None:
        match = find_chip(self.facts("stm32f746ngh6", "cortex-m7", 1024, 320), self.chips())
        assert match is not None
        assert (match.chip.name, match.reason) == ("stm32f746zg", "by its family and its memories")

    @pytest.mark.parametrize(
        ("part", "cpu", "flash", "ram"),
        [
            ("stm32f411re", "cortex-m4", 512, 128),  # a sister of the F446 with the same memories
            ("stm32f746zg", "cortex-m4", 1024, 320),
            ("stm32f746ve", "cortex-m7", 512, 320),
        ],
    )
    def test_a_similar_chip_is_not_taken(self, part: str, cpu: str, flash: int, ram: int) -> None:
        assert find_chip(self.facts(part, cpu, flash, ram), self.chips()) is None

    def test_several_that_fit_are_named(self) -> None:
        (one,) = [chip for chip in self.chips() if chip.name == "stm32f746zg"]
        twins = [one, replace(one, name="other")]
        facts = self.facts("", "cortex-m7", 1024, 320)
        with pytest.raises(
            TinyDeployError, match=r"a: fits several chips: other, stm32f746zg\. Choose one with --chip"
        ):
            find_chip(facts, twins)

    def test_foreign_text_cannot_leave_its_place(self) -> None:
        assert title('A "board"\n[[x]] */ #1', "b") == "A board x / 1"
        assert title("\n", "b") == "b"


class TestCommand:
    def test_json_and_files(self, cli: Cli, tmp_path: Path) -> None:
        out = tmp_path / "new folder" / "mine.toml"
        found = cli("boards", "new", FILES / "nucleo_f746zg.json", "-o", out, "--name", "desk", "--json").json
        assert found["complete"] is True
        assert (found["board"], found["chip"], found["chip_is_ours"]) == ("desk", "stm32f746zg", True)
        assert (found["files"], found["missing"]) == ([str(out)], [])
        assert [path.name for path in out.parent.iterdir()] == ["mine.toml"]
        assert load_board(out).name == "desk"

    def test_nothing_is_replaced_unasked(self, cli: Cli, tmp_path: Path) -> None:
        out = tmp_path / "mine.toml"
        out.write_text("mine")
        failed = cli("boards", "new", FILES / "riscv.dts", "-o", out)
        assert failed.code == 1
        assert failed.stderr == f"error: {out}: exists. Give another -o, or --force to replace it\n"
        assert out.read_text() == "mine"
        assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]
        shown = cli("boards", "new", FILES / "riscv.dts", "-o", out, "--force")
        assert shown.code == 0
        assert "none of our chips fits: rv32-soc is a draft" in shown.stdout
        assert "it is complete; try: tinydeploy build MODEL --board" in shown.stdout
        assert load_board(out).chip.path == tmp_path / "chips" / "rv32-soc.toml"
        failed = cli("boards", "new", FILES / "riscv.dts", "-o", tmp_path / "second.toml")
        assert f"{tmp_path / 'chips' / 'rv32-soc.toml'}: exists" in failed.stderr
        assert not (tmp_path / "second.toml").exists()

    def test_what_is_missing_is_listed(self, cli: Cli, tmp_path: Path) -> None:
        shown = cli("boards", "new", FILES / "stm32f746zg.ld", "-o", tmp_path / "mine.toml")
        assert shown.code == 0
        assert (
            "fill in, where the files say FILL IN:\n  chips/mine-chip.toml: cpu: the core, one of"
            in shown.stdout
        )

    def test_errors(self, cli: Cli, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("hello")
        (tmp_path / "b.txt").write_bytes(b"\xff\xfe\x00")
        good, out = FILES / "riscv.dts", tmp_path / "mine.toml"
        forms = (
            "Give a PlatformIO manifest (.json), a Zephyr build's zephyr.dts, or a GNU linker script (.ld)"
        )
        messages = {
            (tmp_path / "a.txt", "-o", out): f"{tmp_path / 'a.txt'}: describes no board. {forms}",
            (tmp_path / "b.txt", "-o", out): f"{tmp_path / 'b.txt'}: is no text. {forms}",
            (tmp_path / "c.txt", "-o", out): "c.txt: cannot be read (No such file or directory)",
            (good, "-o", tmp_path / "mine"): f"a board file ends with .toml. -o {tmp_path / 'mine'}.toml",
            (
                good,
                "-o",
                out,
                "--name",
                "a b",
            ): "--name: got 'a b', a word of letters, digits, _ and - is allowed",
            (good, "-o", out, "--cpu", "z80"): "--cpu: got 'z80', allowed: cortex-m0",
            (good, "-o", out, "--chip", "z80"): "--chip: no chip 'z80'. Known: ",
            (good, "-o", tmp_path / "a.txt" / "mine.toml"): "cannot write: ",
        }
        for arguments, message in messages.items():
            failed = cli("boards", "new", *arguments, "--json")
            assert failed.code == 1, arguments
            assert message in failed.stderr
            assert failed.json["error"]["what"]
        assert not out.exists()

    def test_a_description_that_contradicts_itself(self, cli: Cli, tmp_path: Path) -> None:
        text = (
            (FILES / "riscv.dts")
            .read_text()
            .replace("current-speed = < 0x1c200 >", "current-speed = < 0x1 >")
        )
        (tmp_path / "zephyr.dts").write_text(text)
        failed = cli("boards", "new", tmp_path / "zephyr.dts", "-o", tmp_path / "mine.toml")
        assert failed.code == 1
        assert failed.stderr == (
            "error: mine.toml: uart.baud: makes a file that does not load: got 1, 300 to 12000000 are "
            "allowed. Correct the source, or give --chip\n"
        )
        assert [path.name for path in tmp_path.iterdir()] == ["zephyr.dts"]

    def test_the_list_is_as_before(self, cli: Cli) -> None:
        found = json.loads(cli("boards", "--json").stdout)
        assert {"host", "nucleo-f746"} <= {board["name"] for board in found["boards"]}
        assert "nucleo-f746" in cli("boards").stdout


@pytest.mark.slow
@pytest.mark.emulated
@pytest.mark.parametrize("source", ["nucleo_f746zg.json", "nucleo_f746zg.dts"])
def test_digits_run_on_what_was_written(source: str, cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "mine.toml"
    assert cli("boards", "new", FILES / source, "-o", out).code == 0
    if not available_emulators(load_board(out)):
        pytest.skip("unicorn is not installed")
    found = cli("verify", demo.model_path(), "--board", out, "--emulate", "--samples", 2, "--json").json
    assert found["bit_exact"] is True
    built = cli("build", demo.model_path(), "--board", out, "-o", tmp_path / "build", "--json").json
    assert built["board"] == "mine"
