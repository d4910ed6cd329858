"""The tables of a pipeline as C, beside the runtime's code that uses them."""

from __future__ import annotations

from collections.abc import Iterable

from tinydeploy.features.config import MelConfig, Spectrum
from tinydeploy.features.tables import tables_of
from tinydeploy.resources import runtime_dir


def c_files(config: MelConfig, name: str) -> dict[str, str]:
    """``NAME.h`` and ``NAME.c`` with a ``td_mel NAME``, and the code that runs it.

    Raises ValueError where ``name`` is not a C identifier.
    """
    if not name.isidentifier() or not name.isascii():
        raise ValueError(f"{name!r} is not a C identifier")
    tables = tables_of(config)
    diagonal = config.coefficients is None
    matrix = tables.matrix.diagonal() if diagonal else tables.matrix.reshape(-1)
    bands = [f"{{{first}, {count}}}" for first, count in tables.bands]
    magnitude = "true" if config.spectrum is Spectrum.MAGNITUDE else "false"
    source = (
        f"/* Tables of a feature pipeline: {config.outputs} steps per frame of {config.window} samples. */\n"
        f'#include "{name}.h"\n\n'
        + _array("int16_t", f"{name}_shape", tables.shape)
        + _array("int32_t", f"{name}_twiddles", tables.twiddles.reshape(-1))
        + _array("td_mel_band", f"{name}_bands", bands)
        + _array("uint16_t", f"{name}_weights", tables.weights)
        + _array("int32_t", f"{name}_log2", tables.log2)
        + _array("int32_t", f"{name}_matrix", matrix)
        + f"const td_mel {name} = {{\n"
        f"    .window = {config.window},\n"
        f"    .fft = {config.fft},\n"
        f"    .bins = {config.bins},\n"
        f"    .outputs = {config.outputs},\n"
        f"    .preemphasis = {config.preemphasis},\n"
        f"    .magnitude = {magnitude},\n"
        f"    .truncate = {str(config.truncate).lower()},\n"
        f"    .diagonal = {str(diagonal).lower()},\n"
        f"    .log2_unit = {tables.log2_unit},\n"
        f"    .epsilon = {tables.epsilon}LL,\n"
        f"    .offset = {int(tables.offsets[0])}LL,\n"
        f"    .shape = {name}_shape,\n"
        f"    .twiddles = {name}_twiddles,\n"
        f"    .bands = {name}_bands,\n"
        f"    .weights = {name}_weights,\n"
        f"    .log2 = {name}_log2,\n"
        f"    .matrix = {name}_matrix,\n"
        "};\n"
    )
    guard = f"{name.upper()}_H"
    header = (
        f"#ifndef {guard}\n#define {guard}\n\n"
        '#include "td_mel.h"\n\n'
        f"#define {name.upper()}_SCRATCH_BYTES TD_MEL_SCRATCH_BYTES({config.fft}, {config.bins})\n\n"
        f"extern const td_mel {name};\n\n#endif\n"
    )
    folder = runtime_dir() / "features"
    code = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("td_mel.[ch]"))}
    return {f"{name}.h": header, f"{name}.c": source, **code}


def _array(ctype: str, name: str, values: Iterable[object]) -> str:
    items = [str(value) for value in values]
    lines = [", ".join(items[start : start + 8]) for start in range(0, len(items), 8)]
    body = ",\n    ".join(lines)
    return f"static const {ctype} {name}[{len(items)}] = {{\n    {body},\n}};\n\n"
