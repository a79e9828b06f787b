"""kernel-specs/attention/"""

import numpy as np
from scipy import special

from case import kernel


def attend(q, k, v, seen, scale):
    """Queries [s, h, d] over keys and values [t, kh, d], each where `seen[s, t]`."""
    shared = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, shared, axis=1), np.repeat(v, shared, axis=1)
    score = np.where(seen, np.einsum("shd,thd->hst", q, k) * scale, -np.inf)
    return np.einsum("hst,thd->shd", special.softmax(score, axis=-1), v)


def prefill(name, key_heads, d, window, *sizes):
    @kernel(name, *sizes)
    def golden(case, b, s):
        q = case.normal("q", "bf16", b, s, 8, d)
        k, v = (case.normal(tensor, "bf16", b, s, key_heads, d) for tensor in "kv")
        behind = np.arange(s)[:, None] - np.arange(s)
        seen, scale = (behind >= 0) & (behind < window), case.scalar("scale", d**-0.5)
        return {"y": [attend(*qkv, seen, scale) for qkv in zip(q, k, v)]}


prefill("attention_causal", 2, 128, np.inf, {"b": 1, "s": 1}, {"b": 2, "s": 13}, {"b": 1, "s": 67})
prefill("attention_window", 1, 64, 128, {"b": 1, "s": 1}, {"b": 2, "s": 29}, {"b": 1, "s": 149})


@kernel("attention_decode", {"b": 1, "t": 1}, {"b": 3, "t": 37}, {"b": 5, "t": 131})
def attention_decode(case, b, t):
    q, scale = case.normal("q", "bf16", b, 8, 128), case.scalar("scale", 128**-0.5)
    k, v = (case.normal(tensor, "bf16", b, t, 2, 128) for tensor in "kv")
    pos = case.integers("pos", "i32", 0, t, b)
    # what lies behind the position is not there at all
    lengths = [p + 1 for p in pos]
    whole = (attend(q[i : i + 1], k[i, :n], v[i, :n], True, scale)[0] for i, n in enumerate(lengths))
    return {"y": np.stack(list(whole))}


TOKENS = [{"t": 1, "n": 1}, {"t": 5, "n": 67}, {"t": 13, "n": 131}]


def rotary(name, split, join):
    """Pairs are complex numbers that turn by their position's angle."""

    @kernel(name, *TOKENS)
    def golden(case, t, n):
        x, pos = case.normal("x", "bf16", t, 8, 128), case.integers("pos", "i32", 0, n, t)
        angle = np.outer(np.arange(n), 10000.0 ** (-np.arange(64) / 64))
        table = case.given("co", "f32", np.cos(angle)) + 1j * case.given("si", "f32", np.sin(angle))
        turned = split(x) * table[pos][:, None, :]
        return {"y": join(turned.real, turned.imag)}


rotary(
    "rope_interleaved",
    lambda x: x[..., 0::2] + 1j * x[..., 1::2],
    lambda real, imag: np.stack([real, imag], axis=-1).reshape(*real.shape[:-1], 128),
)
rotary(
    "rope_half",
    lambda x: x[..., :64] + 1j * x[..., 64:],
    lambda real, imag: np.concatenate([real, imag], axis=-1),
)


@kernel("embedding", {"t": 1, "v": 1}, {"t": 7, "v": 67}, {"t": 37, "v": 257})
def embedding(case, t, v):
    ids, table = case.integers("ids", "i32", 0, v, t), case.normal("table", "bf16", v, 1024)
    return {"y": np.eye(v)[ids] @ table}


@kernel("kv_append", {"t": 1, "n": 256}, {"t": 13, "n": 257}, {"t": 256, "n": 301})
def kv_append(case, t, n):
    slot = case.distinct("slot", "i32", n, t)
    caches = {}
    for name in "kv":
        new = case.normal(name, "bf16", t, 2, 128)
        cache = case.normal(f"{name}_cache", "bf16", n, 2, 128, inout=True).copy()
        for row, place in zip(new, slot):
            cache[place] = row
        caches[f"{name}_cache"] = cache
    return caches
