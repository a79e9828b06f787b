"""kernel-specs/loss/"""

import numpy as np
from scipy import special

from case import kernel

SIZES = [{"b": 1}, {"b": 3}, {"b": 13}]
FEW = [{"b": 1}, {"b": 3}, {"b": 7}]


def pair(case, b):
    return case.normal("x", "f32", b, 512), case.normal("t", "f32", b, 512)


@kernel("cross_entropy", *FEW)
def cross_entropy(case, b):
    x, label = case.normal("x", "f32", b, 32000, scale=2.0), case.integers("label", "i32", 0, 32000, b)
    return {"y": -np.mean(np.take_along_axis(special.log_softmax(x, axis=1), label[:, None], axis=1))}


@kernel("cross_entropy_rows", *FEW)
def cross_entropy_rows(case, b):
    x, label = case.normal("x", "bf16", b, 32000, scale=2.0), case.integers("label", "i32", 0, 32000, b)
    chosen = special.softmax(x, axis=1)[np.arange(b), label]
    return {"y": -np.log(chosen), "z": special.logsumexp(x, axis=1)}


@kernel("mse_loss", *SIZES)
def mse_loss(case, b):
    x, t = pair(case, b)
    return {"y": np.square(x - t).mean()}


@kernel("smooth_l1_loss", *SIZES)
def smooth_l1_loss(case, b):
    (x, t), beta = pair(case, b), case.scalar("beta", 0.8)
    return {"y": np.mean(special.huber(beta, x - t)) / beta}


@kernel("huber_loss", *SIZES)
def huber_loss(case, b):
    (x, t), delta = pair(case, b), case.scalar("delta", 1.3)
    return {"y": np.mean(special.huber(delta, x - t))}


@kernel("hinge_loss", *SIZES)
def hinge_loss(case, b):
    x = case.normal("x", "f32", b, 512)
    t = case.given("t", "f32", np.where(case.random.random((b, 512)) < 0.5, -1.0, 1.0))
    return {"y": np.maximum(0, 1 - t * x).sum() / x.size}


@kernel("kl_div", *SIZES)
def kl_div(case, b):
    x = case.given("x", "f32", special.softmax(case.random.standard_normal((b, 512)), axis=1))
    t = special.softmax(case.random.standard_normal((b, 512)), axis=1)
    # some targets are impossible: they add nothing
    t = case.given("t", "f32", np.where(case.random.random(t.shape) < 0.1, 0.0, t))
    return {"y": special.rel_entr(t, x).sum() / b}


@kernel("triplet_margin_loss", *SIZES)
def triplet_margin_loss(case, b):
    a, margin = case.normal("a", "f32", b, 512), case.scalar("margin", 1.0)
    p, n = case.normal("p", "f32", b, 512), case.normal("n", "f32", b, 512)
    near, far = (np.linalg.norm(a - other + 1e-6, axis=1) for other in (p, n))
    return {"y": np.clip(margin + near - far, 0, None).mean()}


@kernel("cosine_similarity_loss", *SIZES)
def cosine_similarity_loss(case, b):
    x, t = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in pair(case, b))
    return {"y": 1 - np.einsum("bc,bc->b", x, t).mean()}
