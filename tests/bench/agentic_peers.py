"""Times what PyTorch has for the kernels of results/runs/agentic/, beside the expressions in their specs.

    python3 tests/bench/agentic_peers.py OUT.json [--only NAME,NAME] [--rounds 20]       # on a GPU node with PyTorch
    python3 tests/bench/agentic_peers.py OUT.json --tiny     # anywhere: small extents, nothing timed, all ways that run agree

A spec names one expression, which gets its tensors dense and row-major. Here are the other ways, timed in turn with that one:
channels last for convolutions, each backend of SDPA and compiled FlexAttention for attention, and for the product max-autotune and
PyTorch's own kernel for weights of four bits. Inputs are brought into a layout, and weights are packed, before anything is timed.
Pages of a cache are gathered inside the time, since they are gathered for each token. Each way is a captured graph of one call.
Its result is held against that of the first way; a way that does not run has its reason under `failed`.
"""

import argparse
import gc
import json
import statistics

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import layouts

BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION,
            "math": SDPBackend.MATH}
compiled = lambda call: torch.compile(call, dynamic=False)
autotuned = lambda call: torch.compile(call, dynamic=False, mode="max-autotune-no-cudagraphs")
both = lambda name, call: {f"{name} eager": call, f"{name} compile": compiled(call)}


class Maker:
    """Tensors of one kernel: seeded, on one device, with large extents cut down where `tiny`."""

    def __init__(self, device, tiny):
        self.device, self.tiny = device, tiny
        self.generator = torch.Generator(device).manual_seed(7)

    def normal(self, *shape, dtype=torch.float32):
        return torch.randn(shape, generator=self.generator, device=self.device, dtype=torch.float32).to(dtype)

    def whole(self, low, high, *shape, dtype=torch.int32):
        return torch.randint(low, high, shape, generator=self.generator, device=self.device, dtype=dtype)

    def size(self, real, tiny):
        return tiny if self.tiny else real


def convolution(make, x, filters, call):
    """A convolution with its input, and its filters, in both layouts."""
    layout = torch.channels_last if x.dim() == 4 else torch.channels_last_3d
    last, filters_last = x.to(memory_format=layout), filters.to(memory_format=layout)
    return both("dense", lambda: call(x, filters)) | both("channels-last", lambda: call(last, filters_last))


def conv2d_11x11(make, after=lambda y: y):
    side = make.size(224, 63)
    x, w, bias = make.normal(make.size(100, 2), 3, side, side), make.normal(96, 3, 11, 11), make.normal(96)
    return convolution(make, x, w, lambda x, w: after(F.conv2d(x, w, bias, stride=4, padding=2)))


def conv2d_relu_max_pool(make):
    return conv2d_11x11(make, lambda y: F.max_pool2d(torch.relu(y), 3, 2))


def conv2d_3x3(make):
    side = make.size(1024, 20)
    return convolution(make, make.normal(make.size(16, 2), 16, side, side), make.normal(128, 16, 3, 3), F.conv2d)


def conv_transpose2d(make):
    side = make.size(1024, 20)
    return convolution(make, make.normal(make.size(8, 2), 64, side, side), make.normal(64, 64, 3, 3), F.conv_transpose2d)


def depthwise_conv3d(make):
    x = make.normal(make.size(16, 1), 32, make.size(128, 6), make.size(128, 7), make.size(256, 8))
    return convolution(make, x, make.normal(32, 1, 3, 3, 3), lambda x, w: F.conv3d(x, w, groups=32))


def conv2d_bias_relu(make):
    side = make.size(128, 12)
    x, w = make.normal(make.size(128, 2), 64, side, side), make.normal(128, 64, 3, 3)
    cb, bias = make.normal(128), make.normal(128)[:, None, None]
    return convolution(make, x, w, lambda x, w: torch.relu(F.conv2d(x, w, cb)) + bias)


def attentions(q, k, v, mask, causal, blocks):
    """Ways of one attention: q, k and v are functions, called inside the time; heads of k and v repeat."""
    repeated = lambda a, h: a.repeat_interleave(h // a.shape[1], 1)

    def call(grouped=True):
        at, to, of = q(), k(), v()
        if not grouped:
            to, of = repeated(to, at.shape[1]), repeated(of, at.shape[1])
        return F.scaled_dot_product_attention(at, to, of, attn_mask=mask, is_causal=causal, enable_gqa=grouped)

    def only(backend, grouped):
        def run():
            with sdpa_kernel(backend):
                return call(grouped)
        return run

    ways = both("sdpa", call)
    for name, backend in BACKENDS.items():
        ways |= {f"sdpa {name}": only(backend, True), f"sdpa {name}, heads repeated": only(backend, False)}
    flex = compiled(flex_attention)
    return ways | {"flex compile": lambda: flex(q(), k(), v(), block_mask=blocks, enable_gqa=True)}


def attention(make, sees, mask, causal):
    s = make.size(4096, 256)
    half = torch.bfloat16
    q, k, v = (make.normal(1, s, heads, 128, dtype=half).transpose(1, 2) for heads in (32, 8, 8))
    at = torch.arange(s, device=make.device)
    blocks = create_block_mask(sees, None, None, s, s, device=make.device)
    return attentions(lambda: q, lambda: k, lambda: v, mask and mask(at[:, None], at[None, :]), causal, blocks)


def attention_prefill(make):
    return attention(make, lambda b, h, s, t: t <= s, None, True)


def attention_sliding(make):
    window = make.size(1024, 64)
    sees = lambda s, t: (t <= s) & (t > s - window)
    return attention(make, lambda b, h, s, t: sees(s, t), sees, False)


def attention_paged(make):
    b, n = make.size(16, 2), make.size(256, 8)
    half = torch.bfloat16
    q = make.normal(b, 32, 128, dtype=half)
    k, v = (make.normal(b * n, 16, 8, 128, dtype=half) for _ in range(2))
    table, pos = make.whole(0, b * n, b, n), make.whole(n * 8, n * 16, b)
    gathered = lambda a: a[table.long()].flatten(1, 2).transpose(1, 2)
    mask = (torch.arange(n * 16, device=make.device)[None, :] <= pos[:, None])[:, None, None, :]
    blocks = create_block_mask(lambda s, h, _, t: t <= pos[s], b, None, 1, n * 16, device=make.device)
    return attentions(lambda: q.unsqueeze(2), lambda: gathered(k), lambda: gathered(v), mask, False, blocks)


def gemm_int4(make):
    m, n, k = 16, make.size(4096, 64), make.size(14336, 512)
    x, w = make.normal(m, k, dtype=torch.bfloat16), make.whole(-8, 8, n, k)
    scales = (make.normal(n, k // 128) / 64).to(torch.bfloat16)
    wide = (w.to(torch.bfloat16).view(n, -1, 128) * scales[:, :, None]).view(n, k)
    product = lambda: torch.nn.functional.linear(x, wide)
    ways = both("bf16", product) | {"bf16 max-autotune": autotuned(product)}
    codes = (w + 8).to(torch.uint8)  # of two neighbours along k, the first one is the upper half
    packed = torch._convert_weight_to_int4pack(codes[:, ::2] << 4 | codes[:, 1::2], 8) if make.device == "cuda" else None
    scales_and_zeros = torch.stack([scales.T, torch.zeros_like(scales.T)], 2).contiguous()
    return ways | {"four bits": lambda: torch._weight_int4pack_mm(x, packed, 128, scales_and_zeros)}


def triplet_loss(make):
    a, p, n = (make.normal(make.size(32768, 4), make.size(8192, 64)) for _ in range(3))
    return both("dense", lambda: F.triplet_margin_loss(a, p, n, margin=1.0))


def embedding_norm(make):
    v, t = make.size(128256, 50), make.size(4096, 8)
    table, w, ids = make.normal(v, 4096, dtype=torch.bfloat16), make.normal(4096, dtype=torch.bfloat16), make.whole(0, v, t)

    def call():
        rows = F.embedding(ids, table)
        return rows, F.rms_norm(rows, (4096,), w, 1e-5)

    return both("dense", call)


KERNELS = [conv2d_11x11, conv2d_relu_max_pool, conv2d_3x3, conv_transpose2d, depthwise_conv3d, attention_prefill, attention_paged,
           attention_sliding, gemm_int4, triplet_loss, embedding_norm, conv2d_bias_relu]


def agree(found, expected):
    """Raises where two ways do not compute the same: their sums differ, and those of bf16 are rounded once more."""
    for ours, theirs in zip(found, expected, strict=True):
        wide = max(theirs.abs().amax().item(), 1e-30)
        torch.testing.assert_close(ours / wide, theirs / wide, rtol=0.02, atol=0.02)


def listed(out):
    """The beginning of each result, row-major, in memory of its own: of a large one that of its first row, image or sequence."""
    few = lambda held: held if held.numel() < 1 << 26 else held[:1]
    return [few(held).contiguous().reshape(-1)[: 1 << 20].float().clone() for held in (out if isinstance(out, tuple) else (out,))]


def timed(kernel, rounds, make):
    """Samples of every way, or why a way has none."""
    ways, failed, expected = {}, {}, None
    for way, call in kernel(make).items():
        try:
            replay, out = (lambda: None, call()) if make.tiny else layouts.captured(call)
            if not make.tiny:
                replay.replay()
                torch.cuda.synchronize()
            found = listed(out)
            expected = expected or found
            agree(found, expected)
        except Exception as error:  # what a way says that does not run here is part of the result
            failed[way] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            continue
        ways[way] = replay
    samples = {way: [] for way in ways}
    for _ in range(0 if make.tiny else rounds):
        for way, graph in ways.items():
            samples[way].append(round(layouts.micros(graph), 2))
    return samples, failed


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("out")
    arguments.add_argument("--only", default="")
    arguments.add_argument("--rounds", type=int, default=20)
    arguments.add_argument("--tiny", action="store_true")
    asked = arguments.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    result = {"device": name, "torch": torch.__version__, "kernels": {}}
    for kernel in KERNELS:
        if asked.only and kernel.__name__ not in asked.only.split(","):
            continue
        with torch.no_grad():
            samples, failed = timed(kernel, asked.rounds, Maker(device, asked.tiny))
        result["kernels"][kernel.__name__] = {"micros": samples, "failed": failed}
        print(kernel.__name__, {way: statistics.median(s) if s else "agrees" for way, s in samples.items()}, failed, flush=True)
        with open(asked.out, "w") as file:
            json.dump(result, file)
        gc.collect()
        torch.cuda.empty_cache() if device == "cuda" else None


if __name__ == "__main__":
    main()
