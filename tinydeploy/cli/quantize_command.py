"""``tinydeploy quantize``: a float model and samples to an integer model and a report of what was lost."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tinydeploy.build import write_files
from tinydeploy.cli import console
from tinydeploy.cli.options import Json, reads_model
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends import ImportOptions, load
from tinydeploy.ir import DType
from tinydeploy.quantize import Budget, Method, Normalisation, Options, Quantized, quantize_graph, to_html
from tinydeploy.quantize import report as reports
from tinydeploy.quantize.sources import open_any

FloatModel = Annotated[Path, typer.Argument(help="A float network (.onnx, .tflite).", show_default=False)]


@reads_model
def quantize(
    model: FloatModel,
    options: ImportOptions,
    data: Annotated[
        str,
        typer.Option("--data", metavar="CALIB", help="FILE.npz[:ARRAY], .npy, a folder, or MODULE:FUNCTION."),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="OUT.onnx", help="The quantized model.")],
    method: Annotated[Method, typer.Option("--method", help="How ranges are chosen.")] = Method.ROBUST,
    weights: Annotated[str, typer.Option("--weights", metavar="int8|int4", help="Type of weights.")] = "int8",
    activations: Annotated[
        str, typer.Option("--activations", metavar="int8|int16", help="Type of activations.")
    ] = "int8",
    input_type: Annotated[
        str | None,
        typer.Option("--input-type", metavar="TYPE", help="int8, uint8, int16 or float32: what C takes."),
    ] = None,
    output_type: Annotated[
        str | None, typer.Option("--output-type", metavar="TYPE", help="The same for outputs.")
    ] = None,
    mean: Annotated[
        str | None,
        typer.Option("--mean", metavar="M[,M...]", help="Mean of raw / range, one or per channel."),
    ] = None,
    std: Annotated[
        str | None, typer.Option("--std", metavar="S[,S...]", help="Deviation of raw / range, likewise.")
    ] = None,
    raw_range: Annotated[
        float, typer.Option("--range", help="What raw numbers are divided by before mean and std.")
    ] = 255.0,
    data_type: Annotated[
        str | None,
        typer.Option("--data-type", metavar="uint8|int8|float32", help="Type of raw samples and .bin files."),
    ] = None,
    samples: Annotated[int | None, typer.Option("--samples", min=1, help="Use the first N samples.")] = None,
    fold: Annotated[bool, typer.Option("--fold-batch-norm/--keep-batch-norm")] = True,
    equalize: Annotated[bool, typer.Option("--equalize", help="Cross-layer equalization.")] = False,
    bias_correction: Annotated[bool, typer.Option("--bias-correction/--no-bias-correction")] = True,
    adaptive: Annotated[
        bool | None,
        typer.Option("--adaptive-rounding/--nearest-rounding", help="By default for int4 weights."),
    ] = None,
    effects: Annotated[bool, typer.Option("--effects", help="Measure what each option does.")] = False,
    budget_flash: Annotated[
        int | None, typer.Option("--budget-flash", metavar="BYTES", help="Mixed precision: bytes of weights.")
    ] = None,
    budget_ram: Annotated[
        int | None,
        typer.Option("--budget-ram", metavar="BYTES", help="Mixed precision: bytes of activations."),
    ] = None,
    max_drop: Annotated[
        float | None, typer.Option("--max-drop", metavar="PERCENT", help="Answers that may change.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the report as a page.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Turn a float network into an integer one, calibrated on samples, and report layer by layer.

    Example: tinydeploy quantize net.onnx --data calib.npz -o net_int8.onnx --mean 0.5 --std 0.25
    """
    held = _type("--activations", activations)
    chosen = Options(
        method=method,
        activations=held,
        weight_bits=_bits(weights),
        input_type=held if input_type is None else _type("--input-type", input_type),
        output_type=held if output_type is None else _type("--output-type", output_type),
        normalisation=_normalisation(mean, std, raw_range, data_type),
        fold_batch_norm=fold,
        equalize=equalize,
        bias_correction=bias_correction,
        adaptive_rounding=adaptive,
        effects=effects,
        samples=samples,
        budget=Budget(budget_flash, budget_ram, max_drop),
    )
    chosen.check()
    raw = None if data_type is None else _type("--data-type", data_type)
    graph = load(model, options)
    with console.stages() as tell:
        made = quantize_graph(graph, lambda ports: open_any(data, ports, raw), chosen, tell)
    import_module("tinydeploy.quantize.onnx_writer").write_onnx(made.graph, output)
    if html is not None:
        _write(to_html(made.report), html)
    figures = {**made.report.as_json(), "output": str(output)}
    console.result(figures, as_json=as_json)
    if not as_json:
        _show(made, output)


def _show(made: Quantized, output: Path) -> None:
    table: Table = console.table("", reports.rows(made.report), reports.COLUMNS)
    Console(highlight=False).print(table)
    lines = [*reports.summary(made.report), f"wrote {output}"]
    console.result({}, as_json=False, text=console.printable("\n".join(lines)))


def _type(option: str, name: str) -> DType:
    try:
        return DType(name)
    except ValueError:
        raise TinyDeployError(
            f"{name!r} is no type", where=option, fix="Types: int8, uint8, int16, float32"
        ) from None


def _bits(weights: str) -> int:
    found = {"int8": 8, "int4": 4}.get(weights)
    if found is None:
        raise TinyDeployError(
            f"{weights!r} is no type of weights", where="--weights", fix="Allowed: int8, int4"
        )
    return found


def _normalisation(
    mean: str | None, std: str | None, raw_range: float, data_type: str | None
) -> Normalisation | None:
    if mean is None and std is None:
        return None
    raw = DType.UINT8 if data_type is None else _type("--data-type", data_type)
    if raw not in (DType.UINT8, DType.INT8):
        raise TinyDeployError(
            f"{raw.value} is not possible with --mean and --std",
            where="--data-type",
            fix="Allowed: uint8, int8",
        )
    if not raw_range > 0:
        raise TinyDeployError(f"{raw_range:g} is not positive", where="--range", fix="Images of bytes: 255")
    return Normalisation(_numbers("--mean", mean or "0"), _numbers("--std", std or "1"), raw_range, raw)


def _numbers(option: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise TinyDeployError(
            f"{text!r} holds no numbers", where=option, fix="Write one number, or one per channel with commas"
        ) from None


def _write(text: str, path: Path) -> None:
    try:
        write_files({path.name: text}, path.parent, fix="Choose another --html")
    except TinyDeployError as error:
        raise TinyDeployError(error.what, where=str(path), fix=error.fix) from None
