"""Board files from what others wrote about a board: manifests, devicetrees and linker scripts."""

from tinydeploy.boards.new.board_draft import Draft
from tinydeploy.boards.new.facts import Facts
from tinydeploy.boards.new.words import Missing
from tinydeploy.boards.new.write import draft_from, read_facts, write_draft

__all__ = ["Draft", "Facts", "Missing", "draft_from", "read_facts", "write_draft"]
