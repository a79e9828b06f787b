"""kernel-specs/reduce/"""

import numpy as np

from case import kernel

FUNCTIONS = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}
PLACES = {"argmax": np.argmax, "argmin": np.argmin}


def drawn(case, name, shape):
    """Factors near 1, so that a long product stays in range."""
    return case.normal("x", "f32", *shape, mean=1.0, scale=0.02) if name == "prod" else case.normal("x", "f32", *shape)


def reduction(name, function):
    @kernel(f"{name}_last", {"m": 1}, {"m": 3}, {"m": 7})
    def last(case, m):
        return {"y": function(drawn(case, name, (m, 4096)), axis=-1)}

    @kernel(f"{name}_middle", {"b": 1}, {"b": 2}, {"b": 3})
    def middle(case, b):
        return {"y": function(drawn(case, name, (b, 256, 255)), axis=1)}


for word, numpy_function in (FUNCTIONS | PLACES).items():
    reduction(word, numpy_function)
