"""kernel-specs/norm/"""

import numpy as np
from scipy import special

import formats
from case import kernel

ROWS = [{"m": 1}, {"m": 3}, {"m": 7}]
BATCHES = [{"b": 1}, {"b": 2}, {"b": 5}]


def rows(name, dtype, function, **scalars):
    """`function(x, scalars...)` of rows of 4096."""

    @kernel(name, *ROWS)
    def golden(case, m):
        values = [case.scalar(scalar, value) for scalar, value in scalars.items()]
        return {"y": function(case.normal("x", dtype, m, 4096, mean=0.25, scale=2.0), *values)}


def standardised(x, eps, axis):
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + eps)


def rms_normed(x, eps):
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps)


rows("softmax", "f32", lambda x: special.softmax(x, axis=1))
rows("softmax_bf16", "bf16", lambda x: special.softmax(x, axis=1))
rows("softmax_temperature", "f32", lambda x, temperature: special.softmax(x / temperature, axis=1), temperature=0.7)
rows("log_softmax", "f32", lambda x: special.log_softmax(x, axis=1))
rows("layer_norm_plain", "f32", lambda x, eps: standardised(x, eps, 1), eps=1e-5)
rows("l1_norm", "f32", lambda x: x / np.linalg.norm(x, ord=1, axis=1, keepdims=True))
rows("l2_norm", "f32", lambda x: x / np.linalg.norm(x, axis=1, keepdims=True))


@kernel("rms_norm", *ROWS)
def rms_norm(case, m):
    x, w = case.normal("x", "bf16", m, 4096), case.normal("w", "bf16", 4096, mean=1.0, scale=0.1)
    return {"y": rms_normed(x, case.scalar("eps", 1e-6)) * w}


@kernel("layer_norm", *ROWS)
def layer_norm(case, m):
    x = case.normal("x", "bf16", m, 4096, mean=0.5)
    w, b = case.normal("w", "bf16", 4096, mean=1.0, scale=0.1), case.normal("b", "bf16", 4096)
    return {"y": standardised(x, case.scalar("eps", 1e-5), 1) * w + b}


def image(case, b):
    return case.normal("x", "f32", b, 64, 16, 16, mean=0.5)


def affine(case):
    w, bias = case.normal("w", "f32", 64, mean=1.0, scale=0.1), case.normal("bias", "f32", 64)
    return w[:, None, None], bias[:, None, None]


@kernel("group_norm", *BATCHES)
def group_norm(case, b):
    x, (w, bias), eps = image(case, b), affine(case), case.scalar("eps", 1e-5)
    return {"y": standardised(x.reshape(b, 8, -1), eps, 2).reshape(x.shape) * w + bias}


@kernel("instance_norm", *BATCHES)
def instance_norm(case, b):
    return {"y": standardised(image(case, b), case.scalar("eps", 1e-5), (2, 3))}


@kernel("batch_norm", *BATCHES)
def batch_norm(case, b):
    x, (w, bias), eps = image(case, b), affine(case), case.scalar("eps", 1e-5)
    mu, var = case.normal("mu", "f32", 64), case.uniform("var", "f32", 0.25, 4.0, 64)
    return {"y": np.stack([(x[:, c] - mu[c]) / np.sqrt(var[c] + eps) for c in range(64)], axis=1) * w + bias}


@kernel("batch_norm_train", *BATCHES)
def batch_norm_train(case, b):
    x, (w, bias), eps = image(case, b), affine(case), case.scalar("eps", 1e-5)
    over = (0, 2, 3)
    return {"y": standardised(x, eps, over) * w + bias, "mu_out": x.mean(over), "var_out": x.var(over)}


@kernel("frobenius", *BATCHES)
def frobenius(case, b):
    return {"y": np.linalg.norm(case.normal("x", "f32", b, 16, 32, 32).reshape(-1))}


@kernel("frobenius_norm", *BATCHES)
def frobenius_norm(case, b):
    x = case.normal("x", "f32", b, 16, 32, 32)
    return {"y": x / np.linalg.norm(x.reshape(-1))}


@kernel("add_rms_norm", *ROWS)
def add_rms_norm(case, m):
    x, r = case.normal("x", "bf16", m, 4096), case.normal("r", "bf16", m, 4096, scale=4.0)
    w = case.normal("w", "bf16", 4096, mean=1.0, scale=0.1)
    total = formats.round_to("bf16", x + r)
    return {"s": total, "y": rms_normed(total, case.scalar("eps", 1e-6)) * w}


@kernel("rms_norm_fp8", *ROWS)
def rms_norm_fp8(case, m):
    x, w = case.normal("x", "bf16", m, 4096), case.normal("w", "bf16", 4096, mean=1.0, scale=0.1)
    normed = rms_normed(x, case.scalar("eps", 1e-6)) * w
    scale = np.abs(normed).max(axis=1) / 448
    return {"q": normed / scale[:, None], "s": scale}


@kernel("quantise_fp8", *ROWS)
def quantise_fp8(case, m):
    blocks = case.normal("x", "bf16", m, 2048).reshape(m, 16, 128)
    scale = np.linalg.norm(blocks, ord=np.inf, axis=2) / 448
    return {"q": (blocks / scale[..., None]).reshape(m, 2048), "s": scale}


@kernel("quantise_int8", *ROWS)
def quantise_int8(case, m):
    x = case.normal("x", "bf16", m, 4096)
    scale = formats.round_to("f32", np.abs(x).max(axis=1) / 127)
    return {"q": np.clip(np.rint(x / scale[:, None]), -128, 127), "s": scale}
