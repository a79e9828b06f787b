"""Golden values of the kernels in kernel-specs/, by NumPy and SciPy alone.

    python golden.py OUT_DIR        writes every case
    python golden.py --check        recomputes, and compares with values.json
    python golden.py --update       rewrites values.json
    python golden.py --covers DIR.. holds the cases against the spec files in the folders

A case is a folder OUT_DIR/KERNEL.N with case.json, which names the kernel, the run-time axes, the scalars, and a file
for each tensor. Inputs and inouts are the raw little-endian bytes of the tensor's type (4-bit elements two per byte,
the low nibble first); outputs, among them what an inout holds after the launch, are raw float64, not rounded to the
tensor's type.
"""

import json
import pathlib
import sys

import numpy as np

import attention, conv, elementwise, functions, gemm, gemv, loss, norm, pool, reduce, scan  # noqa: F401, E401  they register
import covers
import formats
from case import cases

VALUES = pathlib.Path(__file__).with_name("values.json")
RELATIVE = 1e-9
SAMPLES = 5


def write(folder):
    for case in cases():
        place = pathlib.Path(folder) / case.label()
        place.mkdir(parents=True, exist_ok=True)
        files = {"inputs": {}, "inouts": {}, "outputs": {}}
        for role, tensors in (("inputs", case.inputs), ("inouts", case.inouts)):
            for name, (dtype, values) in tensors.items():
                files[role][name] = f"{name}.bin"
                (place / f"{name}.bin").write_bytes(formats.encode(dtype, values))
        for name, values in case.outputs.items():
            files["outputs"][name] = f"{name}.f64"
            (place / f"{name}.f64").write_bytes(values.astype("<f8").tobytes())
        about = {"kernel": case.name, "axes": case.axes, "scalars": case.scalars, **files}
        (place / "case.json").write_text(json.dumps(about, indent=1) + "\n")


def digest(values):
    """Sum, sum of squares and some elements."""
    flat = values.reshape(-1)
    sampled = [flat[i * 2654435761 % len(flat)] for i in range(1, SAMPLES + 1)]
    return [float(f"{v:.11e}") for v in (flat.sum(), np.square(flat).sum(), *sampled)]


def digests():
    return {case.label(): {name: digest(values) for name, values in case.outputs.items()} for case in cases()}


def update():
    lines = (f"{json.dumps(label)}: {json.dumps(outputs)}" for label, outputs in digests().items())
    VALUES.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def differs(was, found):
    # a sum or an element may cancel to almost nothing: it is held against the size of the whole tensor too
    floor = 1e-3 * (was[1] ** 0.5)
    return any(not abs(a - b) <= RELATIVE * max(abs(a), floor) for a, b in zip(was, found, strict=True))


def check():
    recorded, found = json.loads(VALUES.read_text()), digests()
    errors = [f"{label}: not in {VALUES.name}" for label in found.keys() - recorded.keys()]
    errors += [f"{label}: has no case" for label in recorded.keys() - found.keys()]
    for label in sorted(found.keys() & recorded.keys()):
        if found[label].keys() != recorded[label].keys():
            errors.append(f"{label}: other outputs")
        else:
            moved = (name for name in found[label] if differs(recorded[label][name], found[label][name]))
            errors += [f"{label}: `{name}` moved: {recorded[label][name]} to {found[label][name]}" for name in moved]
    return errors


def main(arguments):
    match arguments:
        case ["--check"]:
            errors = check()
        case ["--update"]:
            errors = update() or []
        case ["--covers", folder, *more]:
            errors = covers.errors([pathlib.Path(each) for each in (folder, *more)], cases())
        case [folder] if not folder.startswith("-"):
            errors = write(folder) or []
        case _:
            errors = [__doc__.strip()]
    print(*errors, sep="\n", end="\n" if errors else "", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
