"""The stored figures of other tools, and the bars that ours must not pass."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("peers.json")
KEYS = ("instructions", "cycle_sum", "code_bytes", "arena_bytes", "stack_bytes")
Figures = dict[str, dict[str, int]]
"""Kind of figure to model to value."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another tool on one core."""

    name: str
    figures: Figures


@dataclass(frozen=True, slots=True)
class Peers:
    """``cores``: the peers of each core, the one to beat first; ``bars``: the most that ours may be."""

    source: str
    cores: dict[str, tuple[Peer, ...]]
    bars: dict[str, Figures]


def load_peers() -> Peers:
    """Read ``peers.json``."""
    content = json.loads(FILE.read_text(encoding="utf-8"))
    cores = {
        core: tuple(Peer(peer["name"], {key: peer[key] for key in KEYS if key in peer}) for peer in peers)
        for core, peers in content["cores"].items()
    }
    return Peers(content["source"], cores, content["bars"])
