"""tests/golden/specs/: what no kernel of the library uses."""

import math

import numpy as np
from scipy import special

from case import kernel

SIZES = [{"n": 1}, {"n": 67}, {"n": 1031}]


@kernel("functions_smooth", *SIZES)
def functions_smooth(case, n):
    x = case.normal("x", "f32", n, scale=3.0)
    return {
        "e": 2.0**x,
        "l": np.log2(np.abs(x) + 0.125),
        "p": np.log(1 + np.square(x)),
        "s": np.exp(1j * x).imag,
        "c": np.exp(1j * x).real,
        "f": 2 * special.ndtr(x * np.sqrt(2)) - 1,
    }


@kernel("functions_steps", *SIZES)
def functions_steps(case, n):
    x = case.given("x", "f32", np.round(4 * case.random.standard_normal(n) * 3) / 4)
    return {
        "f": x // 1,
        "c": -(-x // 1),
        "r": [round(float(value)) for value in x],
        "s": np.where(x > 0, 1, np.where(x < 0, -1, 0)),
        "p": np.sqrt(np.sqrt(np.abs(x) + 0.125)) ** 7,
        "q": (x - 0.125) * (x - 0.125) * (x - 0.125),
    }


@kernel("functions_logic", *SIZES)
def functions_logic(case, n):
    x = case.given("x", "f32", np.round(2 * case.random.standard_normal(n) * 3) / 2)
    b = case.integers("b", "bool", 0, 2, n).astype(bool)
    return {
        "y": [v < -1 or (v >= 1 and not c) for v, c in zip(x, b)],
        "z": [(v != 0.5 and v <= 2) or v > 3 for v in x],
        "w": [v if not c or v == 0.5 else max(-v, 1) for v, c in zip(x, b)],
    }


@kernel("functions_whole", *SIZES)
def functions_whole(case, n):
    x = case.integers("x", "i8", -128, 128, n, 5)
    k, u = case.integers("k", "u8", 0, 256, n), case.integers("u", "u4", 0, 16, n)
    l = case.integers("l", "i64", -(2**33), 2**33, n)
    return {
        "a": x @ np.ones(5, np.int64) * np.sign(l) + l,
        "b": np.clip(np.maximum(x.min(axis=1), -k), -8, 7),
        "c": np.clip(u + np.mod(k, 5), 0, 15),
        "d": [math.prod(int(v) % 7 - 3 for v in row) for row in x],
        "e": np.abs(x.max(axis=1) - k),
        "f": np.clip(np.trunc(x[:, 0] / 3 + 10.1), 0, 255),
        "g": x.argmin(axis=1) - x.argmax(axis=1) + np.arange(n),
    }


@kernel("functions_f64", {"m": 1}, {"m": 7}, {"m": 45})
def functions_f64(case, m):
    x, eps = case.normal("x", "f64", m, 48), case.scalar("eps", 1e-5, "f64")
    centred = x - x.mean(axis=1, keepdims=True)
    normed = centred / np.sqrt(x.var(axis=1, keepdims=True) + eps)
    size = np.linalg.norm(x, axis=1, keepdims=True) / np.sqrt(48)
    return {
        "y": normed * np.tanh(x) + size,
        "z": [row.min() - row[i : i + 3].prod() for i, row in enumerate(x)],
    }
