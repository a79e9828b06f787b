"""One case of one kernel: what it draws and what it binds. The modules of the families register their kernels here.

A kernel's function gets a case and the run-time axes, draws its inputs from the case, and returns its outputs in
float64, with the final contents of what it changes in place among them. It follows the definition of the operation
and never the text of the spec: a mistake in our math must not be made twice.
"""

import zlib

import numpy as np

import formats

KERNELS = {}


def kernel(name, *axes):
    """Registers a function as the golden of kernel `name`, with one case for each binding of the run-time axes."""

    def register(function):
        assert name not in KERNELS, name
        KERNELS[name] = (function, axes)
        return function

    return register


class Case:
    """The inputs of a case by name, as (type, values); values are float64 and exact in the type."""

    def __init__(self, name, number, axes):
        self.name, self.number, self.axes = name, number, axes
        self.scalars, self.inputs, self.inouts = {}, {}, {}
        self.random = np.random.Generator(np.random.PCG64(zlib.crc32(self.label().encode())))
        self.outputs = {}

    def label(self):
        return f"{self.name}.{self.number}"

    def given(self, name, dtype, values, inout=False):
        """Any values, rounded to the type."""
        values = formats.round_to(dtype, values)
        (self.inouts if inout else self.inputs)[name] = (dtype, values)
        return values

    def normal(self, name, dtype, *shape, mean=0.0, scale=1.0, inout=False):
        return self.given(name, dtype, mean + scale * self.random.standard_normal(shape), inout)

    def uniform(self, name, dtype, low, high, *shape):
        return self.given(name, dtype, self.random.uniform(low, high, shape))

    def integers(self, name, dtype, low, high, *shape):
        """Integers in low..high, the end not included; as an array of integers."""
        return self.given(name, dtype, self.random.integers(low, high, shape)).astype(np.int64)

    def distinct(self, name, dtype, high, count):
        """`count` different integers in 0..high."""
        return self.given(name, dtype, self.random.permutation(high)[:count]).astype(np.int64)

    def scalar(self, name, value, dtype="f32"):
        self.scalars[name] = float(formats.round_to(dtype, value))
        return self.scalars[name]


def cases():
    """Every case of every kernel, computed."""
    for name in sorted(KERNELS):
        function, bindings = KERNELS[name]
        for number, axes in enumerate(bindings):
            case = Case(name, number, axes)
            with np.errstate(all="raise", under="ignore"):
                outputs = function(case, **axes)
            case.outputs = {out: np.array(values, np.float64, order="C") for out, values in outputs.items()}
            yield case
