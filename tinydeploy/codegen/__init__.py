"""Program and plan to text: self-contained C that reads like careful handwriting."""

from tinydeploy.codegen.layout import Layout, Part, Slots
from tinydeploy.codegen.library import Files, Library, generate
from tinydeploy.codegen.model import hash_of, macs_of, rounding_of
from tinydeploy.codegen.names import checked_prefix, prefix_of
from tinydeploy.codegen.shadow import dead_ranges, shadow_source

__all__ = [
    "Files",
    "Layout",
    "Library",
    "Part",
    "Slots",
    "checked_prefix",
    "dead_ranges",
    "generate",
    "hash_of",
    "macs_of",
    "prefix_of",
    "rounding_of",
    "shadow_source",
]
