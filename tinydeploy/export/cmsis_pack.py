"""A CMSIS-Pack: the description, the archive that tools install, and a csolution example.

Written after the Open-CMSIS-Pack description format (PACK.xsd 1.7) and the csolution project format.
"""

from __future__ import annotations

import io
import zipfile

from tinydeploy.boards import Board
from tinydeploy.codegen.literals import Raw
from tinydeploy.errors import TinyDeployError
from tinydeploy.export.example import example_files
from tinydeploy.export.project import Project, Tree
from tinydeploy.export.publish import MODEL_VERSION, below, licence, published
from tinydeploy.export.text import render
from tinydeploy.kernels.targets import Feature, Target

VENDOR = "TinyDeploy"
_EPOCH = (1980, 1, 1, 0, 0, 0)
_FILE_MODE = 0o100644
_UNIX = 3

# What a component's name may be at most (Csub), and what is left of a longer one before 8 digits of its hash.
_SUB_LENGTH = 32
_SUB_HASH = 8

_WITH_MVE = ("Cortex-M52", "Cortex-M55", "Cortex-M85")
_WITH_DSP = ("Cortex-M4", "Cortex-M7", *_WITH_MVE)
_MAYBE_DSP = ("Cortex-M33", "Cortex-M35P")
_PLAIN = ("Cortex-M0", "Cortex-M0+", "Cortex-M1", "Cortex-M3", "Cortex-M23")

# The devices of Arm's pack Cortex_DFP; a model for another core is shown on the first.
_REFERENCE_DEVICES = {
    "cortex-m3": "ARMCM3",
    "cortex-m0": "ARMCM0",
    "cortex-m0plus": "ARMCM0P",
    "cortex-m4": "ARMCM4",
    "cortex-m7": "ARMCM7",
    "cortex-m33": "ARMCM33",
    "cortex-m55": "ARMCM55",
    "cortex-m85": "ARMCM85",
}


def check_board(board: Board | None) -> None:
    """Raise TinyDeployError where the board's core is not one of Arm's."""
    if board is not None and not board.chip.cpu.startswith("cortex-"):
        raise TinyDeployError(
            f"CMSIS-Packs are for Arm Cortex cores, {board.name} has {board.chip.cpu}",
            where=str(board.path),
            fix="Choose another --format or --board",
        )


def make(project: Project) -> Tree:
    """The pack's content, and beside it the pack itself: a ``.pack`` file, the same for the same model."""
    name, target = project.name, project.compiled.program.target
    pack = f"{VENDOR}.{name}.{MODEL_VERSION}.pack"
    device = _REFERENCE_DEVICES.get(target.core, next(iter(_REFERENCE_DEVICES.values())))
    values = {
        **published(project, "cmsis-pack"),
        "sub": Raw(_sub(name, project.compiled.library.hash)),
        "pack": Raw(pack),
        "device": Raw(device),
        "cores": [Raw(core) for core in accepted_cores(target)],
    }
    example = f"examples/{name}_inference"
    texts = {
        f"{VENDOR}.{name}.pdsc": "pack.pdsc",
        "README.md": "README.md",
        f"{example}/README.md": "example.md",
        f"{example}/{name}.csolution.yml": "csolution.yml",
        f"{example}/{name}.cproject.yml": "cproject.yml",
        f"{example}/main.c": "main.c",
    }
    tree: Tree = {
        **{path: render(f"cmsis_pack/{template}.j2", **values) for path, template in texts.items()},
        "LICENSE": licence(),
        **below("src", project.library_files()),
        **below(example, example_files(project)),
    }
    return {**tree, pack: archive(tree)}


def accepted_cores(target: Target) -> tuple[str, ...]:
    """The cores that have what the kernels were chosen for, as attributes of a condition's filter."""
    if target.has(Feature.MVE):
        return tuple(f'Dcore="{core}" Dmve="{mve}"' for core in _WITH_MVE for mve in ("MVE", "FP_MVE"))
    if target.has(Feature.DSP):
        plain = tuple(f'Dcore="{core}"' for core in _WITH_DSP)
        return (*plain, *(f'Dcore="{core}" Ddsp="DSP"' for core in _MAYBE_DSP))
    return tuple(f'Dcore="{core}"' for core in (*_PLAIN, *_WITH_DSP, *_MAYBE_DSP))


def archive(tree: Tree) -> bytes:
    """A zip file of a tree that depends on its content alone: sorted, dated 1980, not compressed.

    Compressed bytes would differ from one version of zlib to another.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as file:
        for path, content in sorted(tree.items()):
            entry = zipfile.ZipInfo(path, _EPOCH)
            entry.create_system = _UNIX
            entry.external_attr = _FILE_MODE << 16
            file.writestr(entry, content)
    return packed.getvalue()


def _sub(name: str, model_hash: str) -> str:
    """The component's name: unique also where two long names begin alike."""
    if len(name) <= _SUB_LENGTH:
        return name
    return f"{name[: _SUB_LENGTH - _SUB_HASH - 1]}_{model_hash[:_SUB_HASH]}"
