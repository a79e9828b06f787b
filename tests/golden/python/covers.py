"""Holds the cases against the spec files: every kernel has its cases, and each fits what the kernel declares."""

import math
import re
import tomllib

import numpy as np

CASES_MIN = 3
FUNCTIONS = {"min": min, "max": max, "ceil_div": lambda a, b: -(-a // b), "__builtins__": {}}


def integer(text, axes):
    """An integer expression of axes; division floors."""
    return eval(text.replace("/", "//"), FUNCTIONS, axes)


def specs(folders):
    kernels = {}
    for path in (path for folder in folders for path in sorted(folder.rglob("*.toml"))):
        kernels |= tomllib.loads(path.read_text()).get("kernels", {})
    return kernels


def bind(declared, bound):
    """The extents of all axes, and what is wrong with the run-time ones."""
    axes, errors = {}, []
    for name, form in declared.items():
        form = form if isinstance(form, dict) else {"range": form}
        text, multiple = form["range"], form.get("multiple-of", 1)
        if isinstance(text, int):
            axes[name] = text
        elif ".." not in text:
            axes[name] = integer(text, axes)
        elif name not in bound:
            errors.append(f"axis `{name}` is not bound")
            axes[name] = 0
        else:
            low, high = (int(end) for end in text.split("..="))
            axes[name] = bound[name]
            if not low <= bound[name] <= high or bound[name] % multiple:
                errors.append(f"axis `{name}` = {bound[name]} is outside {text}")
    run_time = {name for name, form in declared.items() if isinstance(form, dict) or ".." in str(form)}
    return axes, errors + [f"`{name}` is no run-time axis" for name in bound.keys() - run_time]


def tensors(table, axes):
    """Each tensor's type, shape, range and uniqueness."""
    found = {}
    for name, form in (table or {}).items():
        form = form if isinstance(form, dict) else {"type": form}
        dtype, dims = re.fullmatch(r"(\w+)\[(.*)\]", form["type"]).groups()
        shape = tuple(integer(dim, axes) for dim in dims.split(",") if dim.strip())
        found[name] = (dtype, shape, form.get("range"), form.get("unique", False))
    return found


def names(what, declared, given):
    if set(declared) == set(given):
        return []
    return [f"{what} are {', '.join(sorted(given)) or 'none'}, declared are {', '.join(sorted(declared)) or 'none'}"]


def elements(name, tensor, dtype, values, axes):
    declared, shape, extent, unique = tensor
    errors = []
    if dtype != declared:
        errors.append(f"`{name}` is {dtype}, declared is {declared}")
    if values.size != math.prod(shape):
        errors.append(f"`{name}` has {values.size} elements, declared is {shape}")
    if extent is not None:
        low, high = (integer(end, axes) for end in extent.split(".."))
        if values.min() < low or values.max() >= high:
            errors.append(f"`{name}` leaves {extent}")
    if unique and len(np.unique(values)) != values.size:
        errors.append(f"`{name}` repeats an element")
    return errors


def of_case(spec, case):
    axes, errors = bind(spec.get("axes", {}), case.axes)
    errors += names("scalars", spec.get("scalars", {}), case.scalars)
    for what, given in (("inputs", case.inputs), ("inout", case.inouts)):
        declared = tensors(spec.get(what), axes)
        errors += names(what, declared, given)
        for name in declared.keys() & given.keys():
            errors += elements(name, declared[name], *given[name], axes)
    written = tensors(spec.get("outputs"), axes) | tensors(spec.get("inout"), axes)
    errors += names("outputs", written, case.outputs)
    for name in written.keys() & case.outputs.keys():
        values = case.outputs[name]
        if values.size != math.prod(written[name][1]):
            errors.append(f"output `{name}` has {values.size} elements, declared is {written[name][1]}")
        if not np.isfinite(values).all():
            errors.append(f"output `{name}` is not finite")
    return errors


def errors(folders, cases):
    kernels, count, found = specs(folders), {}, []
    for case in cases:
        count[case.name] = count.get(case.name, 0) + 1
        if case.name in kernels:
            found += [f"{case.label()}: {error}" for error in of_case(kernels[case.name], case)]
        else:
            found.append(f"{case.label()}: no kernel in {' or '.join(map(str, folders))} has this name")
    few = (name for name in kernels if count.get(name, 0) < CASES_MIN)
    return found + [f"{name}: {count.get(name, 0)} cases, not {CASES_MIN}" for name in few]
