"""What formats that people may publish share: a version, an address and a licence, to be changed by then."""

from __future__ import annotations

from collections.abc import Mapping

from tinydeploy.codegen.literals import Raw
from tinydeploy.export.example import values_of
from tinydeploy.export.project import Project, Tree
from tinydeploy.export.text import Word, render
from tinydeploy.kernels.targets import Feature

MODEL_VERSION = "1.0.0"
"""Models have no version of their own; whoever publishes one counts."""

HOMEPAGE = "https://example.com/tinydeploy/"
"""A name that is reserved for examples (RFC 2606): formats demand an address, and we do not know it."""


def published(project: Project, format_name: str) -> dict[str, object]:
    """Values for the templates of a format, those of ``example.values_of`` included."""
    return {
        **values_of(project),
        "format": Word(format_name),
        "model_version": Word(MODEL_VERSION),
        "homepage": Raw(HOMEPAGE),
        "is_special": bool({Feature.DSP, Feature.MVE} & project.compiled.program.target.features),
    }


def licence() -> str:
    """The file LICENSE: what is ours, and what is not."""
    return render("publish/LICENSE.j2")


def below(folder: str, files: Mapping[str, str]) -> Tree:
    """The same files in a folder."""
    return {f"{folder}/{path}": text for path, text in files.items()}
