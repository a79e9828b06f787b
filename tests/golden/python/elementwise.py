"""kernel-specs/elementwise/"""

import numpy as np
from scipy import special

from activations import gelu, gelu_tanh, relu, silu, softplus
from case import kernel

SIZES = [{"n": 1}, {"n": 257}, {"n": 4099}]


def unary(name, dtype, function, **scalars):
    """`function(x, scalars...)` of each element; inputs reach both tails."""

    @kernel(name, *SIZES)
    def golden(case, n):
        values = [case.scalar(scalar, value) for scalar, value in scalars.items()]
        return {"y": function(case.normal("x", dtype, n, scale=3.0), *values)}


def elu(x, alpha):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def selu(x):
    # the fixed point of mean 0 and variance 1 in the paper's appendix
    alpha = -np.sqrt(2 / np.pi) / (special.erfc(1 / np.sqrt(2)) * np.exp(0.5) - 1)
    scale = (1 - special.erfc(1 / np.sqrt(2)) * np.sqrt(np.e)) * np.sqrt(2 * np.pi)
    scale /= np.sqrt(
        2 * special.erfc(np.sqrt(2)) * np.e**2
        + np.pi * special.erfc(1 / np.sqrt(2)) ** 2 * np.e
        - 2 * (2 + np.pi) * special.erfc(1 / np.sqrt(2)) * np.sqrt(np.e)
        + np.pi
        + 2
    )
    return scale * elu(x, alpha)


def hardsigmoid(x):
    return np.select([x <= -3, x >= 3], [0.0, 1.0], (x + 3) / 6)


unary("relu", "f32", relu)
unary("relu_bf16", "bf16", relu)
unary("leaky_relu", "f32", lambda x, slope: np.maximum(x, 0) + slope * np.minimum(x, 0), slope=0.01)
unary("relu_squared", "bf16", lambda x: np.where(x > 0, x**2, 0))
unary("relu6", "f32", lambda x: np.clip(x, 0, 6))
unary("hardtanh", "f32", lambda x: np.clip(x, -1, 1))
unary("elu", "f32", elu, alpha=0.75)
unary("selu", "f32", selu)
unary("celu", "f32", lambda x, alpha: alpha * elu(x / alpha, 1), alpha=1.25)
unary("gelu", "f32", gelu)
unary("gelu_bf16", "bf16", gelu)
unary("new_gelu", "f32", gelu_tanh)
unary("quick_gelu", "bf16", lambda x: x * special.expit(1.702 * x))
unary("silu", "f32", silu)
unary("silu_bf16", "bf16", silu)
unary("swish", "f32", lambda x, beta: x * special.expit(beta * x), beta=1.5)
unary("mish", "f32", lambda x: x * np.tanh(softplus(x)))
unary("hardswish", "f32", lambda x: x * hardsigmoid(x))
unary("sigmoid", "f32", special.expit)
unary("hardsigmoid", "f32", hardsigmoid)
unary("log_sigmoid", "f32", special.log_expit)
unary("tanh", "f32", np.tanh)
unary("softplus", "f32", softplus)
unary("softsign", "f32", lambda x: x / (np.abs(x) + 1))


@kernel("silu_mul", *SIZES)
def silu_mul(case, n):
    return {"y": silu(case.normal("g", "bf16", n, scale=2.0)) * case.normal("u", "bf16", n)}


@kernel("gelu_tanh_mul", *SIZES)
def gelu_tanh_mul(case, n):
    return {"y": gelu_tanh(case.normal("g", "bf16", n, scale=2.0)) * case.normal("u", "bf16", n)}


@kernel("swiglu_packed", {"m": 1}, {"m": 3}, {"m": 7})
def swiglu_packed(case, m):
    gate, up = np.split(case.normal("x", "bf16", m, 2 * 1792), 2, axis=1)
    return {"y": silu(gate) * up}


@kernel("add", *SIZES)
def add(case, n):
    return {"y": case.normal("a", "bf16", n) + case.normal("b", "bf16", n)}


@kernel("scale_add", *SIZES)
def scale_add(case, n):
    return {"y": case.scalar("alpha", -0.3) * case.normal("a", "f32", n) + case.normal("b", "f32", n)}


@kernel("bias_add", {"m": 1}, {"m": 3}, {"m": 7})
def bias_add(case, m):
    return {"y": case.normal("x", "bf16", m, 4096) + case.normal("b", "bf16", 4096)[None, :]}
