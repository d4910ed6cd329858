"""The part of the Open-CMSIS-Pack description format (PACK.xsd 1.7) that packs of software use, as tables.

Written from the published schema: which attributes and children an element has, which of them must be there,
how often, and whether their order counts. What is not in the tables is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

ANY = r"(?s).*"
ONE_LINE = r"[^\n]+"
RESTRICTED = r"[\-_A-Za-z0-9]+"
_PRERELEASE = r"(\-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
PACK_VERSION = rf"[0-9]+\.[0-9]+\.[0-9]+{_PRERELEASE}(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
COMPONENT_VERSION = rf"(0|[1-9]\d*)\.([0-9]+)(\.([0-9]+))?{_PRERELEASE}"
SCHEMA_VERSION = r"1\.7\.\d+"
DATE = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
ADDRESS = r"https?://[!-~]+"
BOOLEAN = r"true|false|0|1"
CID_PART = r"(?=.{2,32}$)[A-Za-z0-9][A-Za-z0-9_+()'/\-\s.]+"
CID_SUB = r"(?=.{0,32}$)([A-Za-z0-9][A-Za-z0-9_+():/\- .]*)?"
CVENDOR = r"(?=.{2,32}$)[A-Za-z0-9][A-Za-z0-9\-\s]+"
CORE = "Cortex-M(0|0\\+|1|3|4|7|23|33|35P|52|55|85)|Star-MC[13]|SC000|SC300|ARMV8MBL|ARMV8MML|ARMV81MML|other"
COMPILER = r"GCC|ARMCC|IAR|Tasking|GHS|Cosmic|G\+\+|XC|CLANG|Renesas|CLANG_TI|\*"
CATEGORY = (
    "doc|header|include|library|object|source|sourceC|sourceCpp|sourceAsm|linkerScript|utility|image|other"
    "|preIncludeGlobal|preIncludeLocal"
)


class Order(Enum):
    """How the children of an element are arranged."""

    ALL = "all"  # each at most once, in any order
    SEQUENCE = "sequence"  # in the order of the table
    CHOICE = "choice"  # any, any number of times, in any order


@dataclass(frozen=True, slots=True)
class Child:
    """How often a child comes; ``most`` None: any number of times."""

    least: int = 0
    most: int | None = 1


@dataclass(frozen=True, slots=True)
class Element:
    """``attributes``: name to pattern; those in ``required`` must be there. ``text`` None: it holds none."""

    attributes: Mapping[str, str] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    children: Mapping[str, Child] = field(default_factory=dict)
    order: Order = Order.SEQUENCE
    text: str | None = None


_ONCE = Child(least=1)
_MAYBE = Child()
_SOME = Child(least=1, most=None)
_ANY = Child(most=None)
_TEXT = Element(text=ANY)

_FILTER = Element(
    attributes={
        "Dcore": CORE,
        "Dfpu": "NO_FPU|FPU|SP_FPU|DP_FPU|0|1",
        "Ddsp": "NO_DSP|DSP|1",
        "Dmve": "NO_MVE|MVE|FP_MVE",
        "Dname": ANY,
        "Dfamily": ANY,
        "Cclass": CID_PART,
        "Cgroup": CID_PART,
        "Csub": CID_SUB,
        "Tcompiler": COMPILER,
        "Toptions": "AC5|AC6|AC6LTO",
        "condition": ONE_LINE,
    }
)

ELEMENTS: Mapping[str, Element] = {
    "package": Element(
        attributes={
            "schemaVersion": SCHEMA_VERSION,
            "{http://www.w3.org/2001/XMLSchema-instance}noNamespaceSchemaLocation": r"\S+",
        },
        required=("schemaVersion",),
        order=Order.ALL,
        children={
            "name": _ONCE,
            "vendor": _ONCE,
            "description": _ONCE,
            "url": _ONCE,
            "supportContact": _MAYBE,
            "license": _MAYBE,
            "licenseSets": _MAYBE,
            "repository": _MAYBE,
            "requirements": _MAYBE,
            "releases": _ONCE,
            "keywords": _MAYBE,
            "taxonomy": _MAYBE,
            "conditions": _MAYBE,
            "examples": _MAYBE,
            "components": _MAYBE,
        },
    ),
    "package/name": Element(text=RESTRICTED),
    "package/vendor": Element(text=RESTRICTED),
    "package/description": Element(attributes={"overview": ONE_LINE}, text=r"(?s).{1,256}"),
    "package/url": Element(text=ADDRESS),
    "package/supportContact": _TEXT,
    "package/license": Element(text=ONE_LINE),
    "package/repository": Element(attributes={"type": "git|svn|other"}, text=ADDRESS),
    "package/licenseSets": Element(children={"licenseSet": _SOME}),
    "package/licenseSets/licenseSet": Element(
        attributes={"id": ONE_LINE, "default": BOOLEAN, "gating": BOOLEAN},
        required=("id",),
        children={"license": _SOME},
    ),
    "package/licenseSets/licenseSet/license": Element(
        attributes={"name": ONE_LINE, "title": ONE_LINE, "spdx": ONE_LINE, "url": ADDRESS},
        required=("name", "title"),
    ),
    "package/releases": Element(children={"release": _SOME}),
    "package/releases/release": Element(
        attributes={"version": PACK_VERSION, "date": DATE, "tag": ONE_LINE, "url": ADDRESS},
        required=("version",),
        text=ANY,
    ),
    "package/keywords": Element(children={"keyword": _SOME}),
    "package/keywords/keyword": _TEXT,
    "package/taxonomy": Element(children={"description": _SOME}),
    "package/taxonomy/description": Element(
        attributes={"Cclass": CID_PART, "Cgroup": CID_PART, "doc": ONE_LINE, "public": BOOLEAN},
        required=("Cclass",),
        text=ANY,
    ),
    "package/conditions": Element(children={"condition": _SOME}),
    "package/conditions/condition": Element(
        attributes={"id": ONE_LINE},
        required=("id",),
        order=Order.CHOICE,
        children={"description": _MAYBE, "accept": _ANY, "require": _ANY, "deny": _ANY},
    ),
    "package/conditions/condition/description": _TEXT,
    "package/conditions/condition/accept": _FILTER,
    "package/conditions/condition/require": _FILTER,
    "package/conditions/condition/deny": _FILTER,
    "package/examples": Element(children={"example": _SOME}),
    "package/examples/example": Element(
        attributes={
            "name": ONE_LINE,
            "folder": ONE_LINE,
            "archive": ONE_LINE,
            "doc": ONE_LINE,
            "version": ONE_LINE,
            "public": BOOLEAN,
        },
        required=("name", "folder", "doc"),
        children={"description": _ONCE, "board": _ANY, "project": _ONCE, "attributes": _MAYBE},
    ),
    "package/examples/example/description": _TEXT,
    "package/examples/example/board": Element(
        attributes={"name": ONE_LINE, "vendor": ONE_LINE, "Dvendor": ONE_LINE, "Dname": ONE_LINE},
        required=("name", "vendor"),
    ),
    "package/examples/example/project": Element(children={"environment": _SOME}),
    "package/examples/example/project/environment": Element(
        attributes={"name": ONE_LINE, "load": ONE_LINE, "folder": ONE_LINE}, required=("name", "load")
    ),
    "package/examples/example/attributes": Element(
        order=Order.CHOICE, children={"category": _ANY, "component": _ANY, "keyword": _ANY}
    ),
    "package/examples/example/attributes/category": _TEXT,
    "package/examples/example/attributes/keyword": _TEXT,
    "package/examples/example/attributes/component": Element(
        attributes={"Cclass": CID_PART, "Cgroup": CID_PART, "Csub": CID_SUB, "Cvendor": CVENDOR},
        required=("Cclass",),
    ),
    "package/components": Element(order=Order.CHOICE, children={"component": _SOME}),
    "package/components/component": Element(
        attributes={
            "Cvendor": CVENDOR,
            "Cclass": CID_PART,
            "Cgroup": CID_PART,
            "Csub": CID_SUB,
            "Cvariant": CID_PART,
            "Cversion": COMPONENT_VERSION,
            "condition": ONE_LINE,
            "licenseSet": ONE_LINE,
        },
        required=("Cclass", "Cgroup", "Cversion"),
        order=Order.ALL,
        children={"description": _ONCE, "RTE_Components_h": _MAYBE, "files": _ONCE},
    ),
    "package/components/component/description": _TEXT,
    "package/components/component/RTE_Components_h": _TEXT,
    "package/components/component/files": Element(children={"file": _SOME}),
    "package/components/component/files/file": Element(
        attributes={
            "category": CATEGORY,
            "name": r"[^\\]+",
            "condition": ONE_LINE,
            "attr": "config|copy|template|interface",
            "language": "asm|c|cpp|c-cpp|link",
            "scope": "public|private",
            "select": ONE_LINE,
            "version": COMPONENT_VERSION,
        },
        required=("category", "name"),
    ),
}
