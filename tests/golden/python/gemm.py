"""kernel-specs/gemm/"""

import numpy as np
from scipy import special

from activations import gelu, gelu_tanh, relu, silu
from case import kernel

ROWS = [{"m": 1}, {"m": 3}, {"m": 7}]
BATCHES = [{"b": 1, "m": 1}, {"b": 3, "m": 17}, {"b": 5, "m": 31}]


def linear(name, dtype, n, k):
    @kernel(name, *ROWS)
    def golden(case, m):
        return {"y": case.normal("x", dtype, m, k) @ case.normal("w", dtype, n, k).T}


linear("gemm_f32", "f32", 512, 512)
linear("gemm_bf16", "bf16", 512, 512)
linear("gemm_nt_bf16", "bf16", 1024, 4096)
linear("gemm_nt_f16", "f16", 768, 768)


@kernel("gemm_nn_bf16", *ROWS)
def gemm_nn(case, m):
    return {"y": case.normal("x", "bf16", m, 1024) @ case.normal("w", "bf16", 1024, 1024)}


@kernel("gemm_tn_bf16", {"k": 1}, {"k": 13}, {"k": 37})
def gemm_tn(case, k):
    return {"y": case.normal("x", "bf16", k, 512).T @ case.normal("w", "bf16", k, 512)}


@kernel("gemm_batched_nn_bf16", *BATCHES)
def gemm_batched_nn(case, b, m):
    return {"y": np.matmul(case.normal("x", "bf16", b, m, 128), case.normal("w", "bf16", b, 128, 128))}


@kernel("gemm_batched_nt_f32", *BATCHES)
def gemm_batched_nt(case, b, m):
    x, w = case.normal("x", "f32", b, m, 128), case.normal("w", "f32", b, 256, 128)
    return {"y": np.stack([left @ right.T for left, right in zip(x, w)])}


def biased(name, activation):
    @kernel(name, *ROWS)
    def golden(case, m):
        # weights so small that the activations are met where they bend
        x, w = case.normal("x", "bf16", m, 512), case.normal("w", "bf16", 1024, 512, scale=1 / 16)
        return {"y": activation(x @ w.T + case.normal("b", "bf16", 1024))}


biased("gemm_bias", lambda a: a)
biased("gemm_bias_relu", relu)
biased("gemm_bias_gelu", gelu)
biased("gemm_bias_gelu_tanh", gelu_tanh)
biased("gemm_bias_silu", silu)
biased("gemm_bias_sigmoid", special.expit)
biased("gemm_bias_tanh", np.tanh)


def gated(name, activation):
    @kernel(name, *ROWS)
    def golden(case, m):
        x = case.normal("x", "bf16", m, 1024)
        g, u = (case.normal(name, "bf16", 1792, 1024, scale=1 / 16) for name in "gu")
        return {"y": activation(x @ g.T) * (x @ u.T)}


gated("gemm_swiglu", silu)
gated("gemm_geglu", gelu_tanh)


@kernel("gemm_residual", *ROWS)
def gemm_residual(case, m):
    x, w = case.normal("x", "bf16", m, 1024), case.normal("w", "bf16", 1024, 1024)
    return {"y": x @ w.T + case.normal("r", "bf16", m, 1024)}


@kernel("gemm_int8", *ROWS)
def gemm_int8(case, m):
    x, w = case.integers("x", "i8", -128, 128, m, 1024), case.integers("w", "i8", -128, 128, 1024, 1024)
    sx, sw = case.uniform("sx", "f32", 1e-3, 1e-2, m), case.uniform("sw", "f32", 1e-3, 1e-2, 1024)
    return {"y": np.diag(sx) @ (x @ w.T).astype(np.float64) * sw}


@kernel("gemm_fp8_tensor", *ROWS)
def gemm_fp8_tensor(case, m):
    x, w = case.normal("x", "f8e4m3", m, 1024, scale=64.0), case.normal("w", "f8e4m3", 1024, 1024, scale=64.0)
    sx, sw = case.uniform("sx", "f32", 1e-2, 1e-1), case.uniform("sw", "f32", 1e-2, 1e-1)
    return {"y": (x * sx) @ (w * sw).T}


@kernel("gemm_fp8_row", *ROWS)
def gemm_fp8_row(case, m):
    x, w = case.normal("x", "f8e4m3", m, 1024, scale=64.0), case.normal("w", "f8e4m3", 1024, 1024, scale=64.0)
    sx, sw = case.uniform("sx", "f32", 1e-2, 1e-1, m), case.uniform("sw", "f32", 1e-2, 1e-1, 1024)
    return {"y": (x * sx[:, None]) @ (w * sw[:, None]).T}


@kernel("gemm_fp8_block", *ROWS)
def gemm_fp8_block(case, m):
    x, w = case.normal("x", "f8e4m3", m, 1024, scale=64.0), case.normal("w", "f8e4m3", 1024, 1024, scale=64.0)
    xs, ws = case.uniform("xs", "f32", 1e-2, 1e-1, m, 8), case.uniform("ws", "f32", 1e-2, 1e-1, 8, 8)
    return {"y": (x * np.repeat(xs, 128, axis=1)) @ (w * np.kron(ws, np.ones((128, 128)))).T}


@kernel("gemm_int4_group", *ROWS)
def gemm_int4_group(case, m):
    x, w = case.normal("x", "bf16", m, 1024), case.integers("w", "i4", -8, 8, 1024, 1024)
    ws = case.uniform("ws", "bf16", 1e-2, 1e-1, 1024, 8)
    return {"y": x @ (w * np.repeat(ws, 128, axis=1)).T}
