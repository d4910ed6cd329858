"""Packs: the description against the tables of ``pdsc_schema``, what it refers to, and the archive."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element as Node

from tests.export.metadata.pdsc_schema import ELEMENTS, Order
from tests.export.metadata.tree import Tree, text_of

EPOCH = (1980, 1, 1, 0, 0, 0)


def faults(tree: Tree) -> Iterator[str]:
    """The rules that a pack breaks."""
    descriptions = [path for path in tree if path.endswith(".pdsc")]
    if len(descriptions) != 1 or "/" in descriptions[0]:
        yield f"a pack has one description in its root, not {descriptions}"
        return
    try:
        root = ElementTree.fromstring(text_of(tree, descriptions[0]))
    except ElementTree.ParseError as error:
        yield f"{descriptions[0]}: {error}"
        return
    found = list(structure_faults(root, root.tag))
    yield from found
    if not found:
        yield from _names(tree, descriptions[0], root)
        yield from _references(tree, root)
        yield from _conditions(root)


def structure_faults(node: Node, path: str) -> Iterator[str]:
    """Attributes, children, their order and number, texts."""
    if path not in ELEMENTS:
        yield f"{path} is not an element"
        return
    rule = ELEMENTS[path]
    for name in rule.required:
        if name not in node.attrib:
            yield f"{path}: attribute {name} is missing"
    for name, value in node.attrib.items():
        if name not in rule.attributes:
            yield f"{path}: attribute {name} is not known"
        elif not re.fullmatch(rule.attributes[name], value):
            yield f"{path}: {name}={value!r} is not allowed"
    text = node.text or ""
    if rule.text is None:
        if text.strip():
            yield f"{path}: holds the text {text.strip()!r}"
    elif not re.fullmatch(rule.text, text):
        yield f"{path}: the text {text!r} is not allowed"
    yield from _children(node, path)


def _children(node: Node, path: str) -> Iterator[str]:
    rule = ELEMENTS[path]
    tags = [child.tag for child in node]
    for tag, child in rule.children.items():
        count = tags.count(tag)
        if count < child.least:
            yield f"{path}: {tag} is missing"
        if child.most is not None and count > child.most:
            yield f"{path}: {tag} comes {count} times"
    known = [tag for tag in tags if tag in rule.children]
    if rule.order is Order.SEQUENCE and known != sorted(known, key=list(rule.children).index):
        yield f"{path}: the order is {known}, not {list(rule.children)}"
    if "description" in known[1:] and rule.order is Order.CHOICE:
        yield f"{path}: description is not first"
    for child_node in node:
        yield from structure_faults(child_node, f"{path}/{child_node.tag}")


def _names(tree: Tree, description: str, root: Node) -> Iterator[str]:
    """``VENDOR.NAME.pdsc`` and ``VENDOR.NAME.VERSION.pack``, the highest version first."""
    stem = f"{root.findtext('vendor')}.{root.findtext('name')}"
    if description != f"{stem}.pdsc":
        yield f"the description must be called {stem}.pdsc, not {description}"
    versions = [
        tuple(map(int, re.split(r"[-+]", release.get("version", ""))[0].split(".")))
        for release in root.iter("release")
    ]
    if versions != sorted(versions, reverse=True) or len(set(versions)) != len(versions):
        yield f"the releases are not in falling order: {versions}"
    archives = [path for path in tree if path.endswith(".pack")]
    wanted = f"{stem}.{'.'.join(map(str, versions[0]))}.pack"
    if archives != [wanted]:
        yield f"the archive must be called {wanted}, not {archives}"
        return
    yield from archive_faults(tree, archives[0], description)


def archive_faults(tree: Tree, archive: str, description: str) -> Iterator[str]:
    """Holds the tree's files with the same bytes and the same time everywhere, and nothing else."""
    content = tree[archive]
    if isinstance(content, str):
        yield f"{archive} is text"
        return
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        names = packed.namelist()
        if description not in names:
            yield f"{archive} has no {description} in its root"
        if names != sorted(names):
            yield f"{archive} is not sorted"
        for entry in packed.infolist():
            if entry.date_time != EPOCH:
                yield f"{archive}: {entry.filename} is dated {entry.date_time}"
            if entry.filename not in tree or text_of(tree, entry.filename).encode() != packed.read(entry):
                yield f"{archive}: {entry.filename} is not the file of the tree"


def _references(tree: Tree, root: Node) -> Iterator[str]:
    """Every file and folder that is named is there, with the right kind of name."""
    folders = {path[: match.end()] for path in tree for match in re.finditer("/", path)}
    files = [root.findtext("license"), *(entry.get("doc") for entry in root.iter("description"))]
    for node in root.iter("license"):
        files.append(node.get("name"))
    description = root.find("description")
    files.append(None if description is None else description.get("overview"))
    for node in root.iter("file"):
        name, category = node.get("name", ""), node.get("category")
        if category == "include":
            if not name.endswith("/") or name not in folders:
                yield f"include {name!r} is not a folder of the pack, with / at its end"
        else:
            files.append(name)
        suffix = {"sourceC": ".c", "header": ".h"}.get(category or "", "")
        if not name.endswith(suffix):
            yield f"{name} is not a {category}"
    for example in root.iter("example"):
        folder = example.get("folder", "").rstrip("/")
        files.append(f"{folder}/{example.get('doc')}")
        for environment in example.iter("environment"):
            inner = f"{environment.get('folder')}/" if environment.get("folder") else ""
            files.append(f"{folder}/{inner}{environment.get('load')}")
    for name in filter(None, files):
        if name not in tree:
            yield f"{name} is named but not in the pack"


def _conditions(root: Node) -> Iterator[str]:
    """Conditions that are used exist, and none needs itself."""
    defined = {node.get("id"): node for node in root.iter("condition")}
    if len(defined) != len(list(root.iter("condition"))):
        yield "two conditions have one id"
    used = [node.get("condition") for node in root.iter() if node.get("condition") is not None]
    for name in used:
        if name not in defined:
            yield f"the condition {name!r} is not defined"
    for name in defined.keys() - set(used):
        yield f"the condition {name!r} is not used"
    for name in defined:
        seen: set[str | None] = set()
        wanted = [name]
        while wanted:
            current = wanted.pop()
            if current in seen or current not in defined:
                continue
            seen.add(current)
            needs = [part.get("condition") for part in defined[current]]
            if name in needs:
                yield f"the condition {name!r} needs itself"
            wanted += [need for need in needs if need]
    identities = [
        tuple(node.get(key) for key in ("Cvendor", "Cclass", "Cgroup", "Csub", "Cvariant"))
        for node in root.findall("components/component")
    ]
    if len(set(identities)) != len(identities):
        yield "two components have one identity"
