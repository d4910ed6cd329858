"""What is known of a machine instruction, whatever the architecture."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Class(Enum):
    """What an instruction does, as far as the time it takes depends on it."""

    ALU = "alu"
    LOAD = "load"
    STORE = "store"
    MULTIPLE = "multiple"
    DIVIDE = "divide"
    IT = "it"
    FLOAT = "float"
    FLOAT_DIVIDE = "float divide"


class Flow(Enum):
    """Where an instruction may go, other than to the next one."""

    NEXT = "next"
    JUMP = "jump"
    JUMP_IF = "conditional jump"
    CALL = "call"
    CALL_REGISTER = "call through a register"
    JUMP_REGISTER = "jump through a register"
    TABLE = "jump through a table"
    RETURN = "return"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of ``size`` bytes.

    ``words`` are the words that LDM, STM and their like move. ``offset`` is from the instruction's address to
    the target of a direct jump or call. ``pushed`` bytes are taken from the stack; ``moves_stack`` says that
    the stack pointer changes by what only run time knows.
    """

    size: int
    kind: Class = Class.ALU
    flow: Flow = Flow.NEXT
    words: int = 0
    offset: int = 0
    pushed: int = 0
    moves_stack: bool = False
