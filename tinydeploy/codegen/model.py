"""Program and plan to the view that the templates render: symbols, addresses, comments."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from tinydeploy import __version__
from tinydeploy.codegen import selftest
from tinydeploy.codegen.constants import Constants, Pad, pad_of, padding_rows
from tinydeploy.codegen.literals import CComment, CFloat, CIdent, CString, Raw, c_call
from tinydeploy.codegen.render import render
from tinydeploy.codegen.selftest import Check
from tinydeploy.codegen.slots import Block, BlockView, exchangeable
from tinydeploy.codegen.views import (
    C_TYPES,
    QUANTIZED,
    CallView,
    Commit,
    Data,
    Function,
    Further,
    Port,
    Source,
    StepView,
    quant_text,
    shape_text,
)
from tinydeploy.fixed_point import Rounding
from tinydeploy.ir import Graph
from tinydeploy.ir import to_text as graph_text
from tinydeploy.kernels import SCHEDULES
from tinydeploy.kernels.base import Access, Instance, Kernel, Kind
from tinydeploy.memplan import Plan
from tinydeploy.ops import OPS, site_of
from tinydeploy.schedule import Call, Program, Step, scratch_key

RUNTIME_ABI = 1


@dataclass(frozen=True, slots=True)
class Model:
    """Everything the templates print about a model."""

    title: CComment
    version: CComment
    prefix: CIdent
    PREFIX: CIdent
    abi: int
    hash: CIdent | Raw
    rounding: CString
    arena_bytes: int
    weights_bytes: int
    table_bytes: int
    macs: int
    instances: int
    align_bytes: int
    state_bytes: int
    commits: tuple[Commit, ...]
    headers: tuple[Raw, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    converts: bool
    data: tuple[Data, ...]
    functions: tuple[Function, ...]
    steps: tuple[StepView, ...]
    checks: tuple[Check, ...]
    seed: Raw
    block: BlockView | None = None


def hash_of(graph: Graph) -> int:
    """The model's identity: the first 8 bytes of the SHA-256 of its text, constants by digest included."""
    return int.from_bytes(hashlib.sha256(graph_text(graph).encode()).digest()[:8], "big")


def rounding_of(graph: Graph) -> str:
    """The rounding of the requantizing nodes: one name, ``mixed``, or ``none``."""
    found = {node.attrs.rounding for node in graph.nodes if hasattr(node.attrs, "rounding")}
    names = sorted(rounding.value for rounding in found if isinstance(rounding, Rounding))
    return names[0] if len(names) == 1 else ("mixed" if names else "none")


def macs_of(graph: Graph, index: int) -> int:
    """Multiply-accumulates of node ``index``."""
    return OPS[graph.nodes[index].op].macs(site_of(graph, index))


def build_model(program: Program, plan: Plan, prefix: str, *, slots: bool = False) -> Model:
    """The view of a verified program and its verified plan under a C prefix.

    With ``slots`` everything that a training chooses lies in one block that can be exchanged.
    """
    return _Builder(program, plan, prefix, Block(prefix) if slots else Constants(prefix)).build()


class _Builder:
    def __init__(self, program: Program, plan: Plan, prefix: str, constants: Constants) -> None:
        self._program = program
        self._graph = program.graph
        self._prefix = prefix
        self._plan = plan
        self._placements = {placement.buffer.key: placement for placement in plan.placements}
        self._constants = constants
        self._schedules = {schedule.name: schedule for schedule in SCHEDULES}
        self._functions: dict[Instance, Function] = {}
        self._padding = {
            owner: self._constants.padding(owner.pad_value, row_bytes, owner)
            for owner, row_bytes in padding_rows(program, apart=isinstance(constants, Block)).items()
        }

    def build(self) -> Model:
        graph, program = self._graph, self._program
        steps: list[StepView] = []
        instance = 0
        for index, step in enumerate(program.steps):
            steps.append(StepView(index, self._calls(index, step, instance)))
            instance += len(step.calls)
        inputs = tuple(self._port(i, value, is_input=True) for i, value in enumerate(graph.inputs))
        outputs = tuple(self._port(i, value, is_input=False) for i, value in enumerate(graph.outputs))
        converts = any(port.converts for port in inputs + outputs)
        used = {self._schedules[call.kernel.instance.schedule] for call in program.calls()}
        headers = {header for schedule in used for header in schedule.headers}
        headers |= {"td_quantize.h"} if converts else set()
        headers |= {"td_copy.h"} if graph.states else set()
        commits = self._commits()
        return Model(
            title=CComment(graph.name),
            version=CComment(__version__),
            prefix=CIdent(self._prefix),
            PREFIX=CIdent(self._prefix.upper()),
            abi=RUNTIME_ABI,
            hash=Raw(f"0x{hash_of(graph):016x}ULL"),
            rounding=CString(rounding_of(graph)),
            arena_bytes=self._plan.arena_bytes,
            weights_bytes=self._constants.bytes(Kind.WEIGHTS),
            table_bytes=self._constants.bytes(Kind.TABLE),
            macs=sum(macs_of(graph, index) for index in range(len(graph.nodes))),
            instances=instance,
            align_bytes=program.align_bytes,
            state_bytes=sum(graph.type(state.before).bytes for state in graph.states),
            commits=commits,
            headers=tuple(map(Raw, sorted(headers))),
            inputs=inputs,
            outputs=outputs,
            converts=converts,
            data=self._constants.data,
            functions=tuple(self._functions.values()),
            steps=tuple(steps),
            checks=self._checks(),
            seed=Raw(f"0x{selftest.SEED:08x}u"),
            block=self._constants.view() if isinstance(self._constants, Block) else None,
        )

    def _checks(self) -> tuple[Check, ...]:
        """The golden CRCs of a model that can test itself; none otherwise."""
        if isinstance(self._constants, Block) or not selftest.supports(self._graph):
            return ()
        return tuple(
            Check(
                step,
                Raw(self._address(value, "uint8_t", const=True)),
                self._graph.type(value).bytes,
                Raw(f"0x{crc:08x}u"),
            )
            for step, value, crc in selftest.golden_crcs(self._program)
        )

    def _commits(self) -> tuple[Commit, ...]:
        """State variables in the order in which a run must replace them; unchanging ones last."""
        graph, storage = self._graph, self._program.storage
        sources = {target: source for source, target in self._program.commits()}
        states = {storage[state.before]: state for state in graph.states}
        commits = []
        for target in [*sources, *(value for value in states if value not in sources)]:
            state = states[target]
            type_ = graph.type(state.before)
            initial = graph.blobs.array(state.initial, type_)
            data = initial.tobytes()
            even = data == data[:1] * len(data)
            source = sources.get(target)
            commits.append(
                Commit(
                    comment=CComment(graph.values[target].name[:120]),
                    to=Raw(self._address(target, "uint8_t", const=False)),
                    source=None if source is None else Raw(self._address(source, "uint8_t", const=True)),
                    bytes=type_.bytes,
                    initial=None if even else self._constants.initial(type_, initial),
                    fill=self._constants.fill(int.from_bytes(data[:1], "little", signed=True)) if even else 0,
                )
            )
        return tuple(commits)

    def _calls(self, index: int, step: Step, instance: int) -> tuple[CallView, ...]:
        made = {call.output: position for position, call in enumerate(step.calls)}
        return tuple(
            self._call(index, step, position, call, instance + position, made)
            for position, call in enumerate(step.calls)
        )

    def _call(
        self, index: int, step: Step, position: int, call: Call, instance: int, made: dict[int, int]
    ) -> CallView:
        kernel = self._kernel(call)
        sources: list[Source] = []
        pointers = 0
        for value, access in zip(call.inputs, kernel.accesses, strict=True):
            source = self._source(step, call, value, access, pointers, made)
            sources.append(source)
            pointers += source.pointers
        ring = step.ring_of(call.output)
        return CallView(
            position=position,
            instance=instance,
            comments=self._comments(index, step, call),
            function=self._function(kernel).symbol,
            arguments=self._arguments(index, call, kernel),
            takes_row=kernel.takes_row,
            sources=tuple(sources),
            pointers=pointers,
            flat=kernel.flat,
            band=kernel.band,
            bands=kernel.bands,
            out=Raw(self._address(call.output, "int8_t", const=False)),
            out_rows=kernel.result.rows,
            out_row_bytes=kernel.result.row_bytes,
            out_ring=ring.rows if ring else 0,
            more=tuple(self._further(number, value) for number, value in enumerate(call.others, 1)),
        )

    def _further(self, number: int, value: int) -> Further:
        address = Raw(self._address(value, "int8_t", const=False))
        return Further(number, address, self._graph.type(value).bytes)

    def _source(
        self, step: Step, call: Call, value: int, access: Access, pointer: int, made: dict[int, int]
    ) -> Source:
        kernel, ring = call.kernel, step.ring_of(value)
        pads = access.pads(kernel.bands, kernel.band)
        return Source(
            base=Raw(self._address(value, "int8_t", const=True)),
            rows=access.rows,
            row_bytes=access.row_bytes,
            stride=access.stride,
            before=access.before,
            pointers=1 if kernel.flat else access.pointers(kernel.band),
            first_pointer=pointer,
            padding=self._padding[self._pad_owner(call, value)] if pads else None,
            ring=ring.rows if ring else 0,
            end_offset=access.end(0, kernel.band),
            waits_for=made.get(value),
        )

    def _kernel(self, call: Call) -> Kernel:
        """The kernel of a call; without constants in its code where they are exchanged."""
        return exchangeable(call.kernel) if isinstance(self._constants, Block) else call.kernel

    def _pad_owner(self, call: Call, value: int) -> Pad:
        return pad_of(self._program, call, value, apart=isinstance(self._constants, Block))

    def _arguments(self, index: int, call: Call, kernel: Kernel) -> tuple[str, ...]:
        node = self._graph.nodes[call.node]
        known = tuple(
            value for value in node.inputs if value is not None and self._graph.values[value].is_constant
        )
        owner = (call.kernel.instance, known) if known else (call.kernel.instance, call.node)
        arguments = [str(self._constants.packed(constant, owner)) for constant in kernel.constants]
        arguments += [self._constants.scalar(scalar.value) for scalar in kernel.scalars]
        if kernel.scratch_bytes:
            offset = self._placements[scratch_key(self._program, index)].offset
            arguments.append(f"m->state.arena + {offset}")
        return tuple(arguments)

    def _function(self, kernel: Kernel) -> Function:
        """The C function of a kernel's instance, made at its first use."""
        if kernel.instance not in self._functions:
            schedule = kernel.instance.schedule
            symbol = CIdent(f"{self._prefix}_k{len(self._functions)}_{schedule.replace('/', '_')}")
            parameters = ["int8_t *out"]
            parameters += [f"int8_t *out{number}" for number in range(1, len(kernel.more) + 1)]
            parameters += ["const int8_t **in_rows"]
            parameters += ["int32_t y"] if kernel.takes_row else []
            parameters += [f"const {constant.ctype.value} *{constant.role}" for constant in kernel.constants]
            parameters += [f"int32_t {scalar.role}" for scalar in kernel.scalars]
            parameters += ["void *scratch"] if kernel.scratch_bytes else []
            self._functions[kernel.instance] = Function(
                symbol=symbol,
                comment=CComment(f"{kernel.title}, {kernel.band} of {kernel.result.rows} rows ({schedule})"),
                signature=c_call(f"TD_KERNEL static void {symbol}", parameters, "", ")\n{"),
                body=Raw(render(f"{schedule}.c.j2", p=kernel.instance.params)),
            )
        return self._functions[kernel.instance]

    def _address(self, value: int, ctype: str, *, const: bool) -> str:
        """C expression for the first byte of a value, given ``m``."""
        root = self._program.storage[value]
        qualifier = "const " if const else ""
        if self._graph.values[root].is_constant:
            symbol = self._constants.value(self._graph, root)
            own = C_TYPES[self._graph.type(root).dtype]
            return str(symbol) if own == ctype else f"(const {ctype} *)(const void *){symbol}"
        cast = "" if ctype in ("int8_t", "uint8_t") else "(void *)"
        return f"({qualifier}{ctype} *){cast}(m->state.arena + {self._placements[root].offset})"

    def _comments(self, index: int, step: Step, call: Call) -> tuple[CComment, ...]:
        graph, kernel = self._graph, call.kernel
        node = graph.nodes[call.node]
        lines = [f"Step {index}: {node.name[:120]}", f"{kernel.title}, {macs_of(graph, call.node)} MACs"]
        for operand in kernel.operands:
            value = node.inputs[operand]
            if value is not None:
                lines.append("in   " + self._value_text(step, value))
        lines += ["out  " + self._value_text(step, value) for value in call.outputs]
        if kernel.scratch_bytes:
            offset = self._placements[scratch_key(self._program, index)].offset
            lines.append(f"scratch {kernel.scratch_bytes} bytes at {offset}")
        return tuple(map(CComment, lines))

    def _value_text(self, step: Step, value: int) -> str:
        type_ = self._graph.type(value)
        text = f"{type_.dtype.value}{shape_text(type_)}, {quant_text(type_)}"
        root = self._program.storage[value]
        if root not in self._placements:
            return f"{text}, constant"
        placement = self._placements[root]
        ring = step.ring_of(value)
        kept = f", ring of {ring.rows} rows" if ring else ""
        life = placement.buffer
        return f"{text}{kept}, arena {placement.offset}, steps {life.first} to {life.last}"

    def _port(self, index: int, value: int, *, is_input: bool) -> Port:
        graph = self._graph
        type_ = graph.type(value)
        tag = f"{'in' if is_input else 'out'}{index}"
        ctype = C_TYPES[type_.dtype]
        quant = type_.quant
        converts = type_.dtype in QUANTIZED and quant is not None and quant.per_tensor
        low, high = type_.dtype.limits if type_.dtype.is_integer else (0, 0)
        name = graph.values[value].name
        comment = f"{tag} {name}: {type_.dtype.value}{shape_text(type_)}, {quant_text(type_)}"
        return Port(
            index=index,
            tag=CIdent(tag),
            macro=CIdent(tag.upper()),
            comment=CComment(comment),
            label=CString(name[:64]),
            ctype=CIdent(ctype),
            dtype=CIdent(f"TD_{type_.dtype.name}"),
            elements=type_.elements,
            bytes=type_.bytes,
            rank=len(type_.shape),
            shape=Raw("{" + ", ".join(map(str, type_.shape)) + "}"),
            scale=self._constants.scale(quant.scale) if converts and quant else CFloat(0.0),
            zero_point=self._constants.zero_point(quant.zero_point) if converts and quant else 0,
            low=low,
            high=high,
            converts=converts,
            is_float=ctype == "float",
            pointer=Raw(self._address(value, ctype, const=not is_input)),
            in_arena=not graph.values[self._program.storage[value]].is_constant,
        )
