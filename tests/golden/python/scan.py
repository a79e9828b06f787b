"""kernel-specs/scan/"""

import numpy as np

from case import kernel

ROWS = [{"m": 1}, {"m": 3}, {"m": 7}]


def scan(name, function, length=4096, mean=0.0, scale=1.0):
    @kernel(name, *ROWS)
    def golden(case, m):
        return {"y": function(case.normal("x", "f32", m, length, mean=mean, scale=scale))}


def exclusive(x):
    return np.concatenate([np.zeros((len(x), 1)), np.cumsum(x[:, :-1], axis=1)], axis=1)


scan("cumsum", lambda x: np.cumsum(x, axis=1))
scan("cumsum_reverse", lambda x: np.fliplr(np.cumsum(np.fliplr(x), axis=1)))
scan("cumsum_exclusive", exclusive)
scan("cumprod", lambda x: np.cumprod(x, axis=1), length=1024, mean=1.0, scale=0.03)
scan("cummax", lambda x: np.maximum.accumulate(x, axis=1))


@kernel("cumsum_masked", *ROWS)
def cumsum_masked(case, m):
    x, mask = case.normal("x", "f32", m, 4096), case.integers("mask", "bool", 0, 2, m, 4096)
    x[mask == 0] = 0
    return {"y": np.cumsum(x, axis=1)}
