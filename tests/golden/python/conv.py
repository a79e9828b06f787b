"""kernel-specs/conv/: by scipy's correlation of all channels, then striding; dilation spreads the filter."""

import numpy as np
from scipy import signal

from activations import relu, silu
from case import kernel

BATCHES = [{"b": 1}, {"b": 2}, {"b": 3}]


def correlate(x, w, stride=1, padding=0, dilation=1):
    """Images [b, c, ...] with filters [o, c, ...]."""
    space = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0)] + [(padding, padding)] * space)
    spread = np.zeros(w.shape[:2] + tuple((extent - 1) * dilation + 1 for extent in w.shape[2:]))
    spread[(..., *[slice(None, None, dilation)] * space)] = w
    whole = [[signal.correlate(img, filt, "valid", "direct")[0] for filt in spread] for img in x]
    return np.array(whole)[(..., *[slice(None, None, stride)] * space)]


def convolution(name, image, filters, bias=False, finish=lambda a: a, **options):
    @kernel(name, *BATCHES)
    def golden(case, b):
        x, w = case.normal("x", "f32", b, *image), case.normal("w", "f32", *filters)
        y = correlate(x, w, **options)
        if bias:
            y += case.normal("bias", "f32", filters[0]).reshape(-1, *[1] * (len(image) - 1))
        return {"y": finish(y)}


def relu_max_pool(a):
    windows = np.lib.stride_tricks.sliding_window_view(relu(a), (3, 3), axis=(2, 3))
    return windows[:, :, ::2, ::2].max(axis=(4, 5))


convolution("conv2d", (16, 28, 28), (32, 16, 3, 3), bias=True)
convolution("conv2d_padded", (16, 28, 28), (16, 16, 3, 3), padding=1)
convolution("conv2d_strided", (16, 28, 28), (32, 16, 3, 3), stride=2, padding=1)
convolution("conv2d_dilated", (16, 27, 21), (16, 16, 3, 3), dilation=2)
convolution("conv3d", (3, 8, 18, 16), (16, 3, 3, 3, 3), bias=True)
convolution("conv2d_relu_max_pool", (3, 67, 67), (32, 3, 11, 11), bias=True, stride=4, finish=relu_max_pool)

LENGTHS = [{"b": 1, "l": 9}, {"b": 2, "l": 31}, {"b": 3, "l": 64}]


@kernel("conv1d", *LENGTHS)
def conv1d(case, b, l):
    x, w, bias = case.normal("x", "f32", b, 32, l), case.normal("w", "f32", 64, 32, 3), case.normal("bias", "f32", 64)
    return {"y": correlate(x, w) + bias[:, None]}


@kernel("conv1d_dilated", *LENGTHS)
def conv1d_dilated(case, b, l):
    x, w = case.normal("x", "f32", b, 16, l), case.normal("w", "f32", 32, 16, 3)
    return {"y": correlate(x, w, stride=3, dilation=4)}


@kernel("conv1d_causal", {"b": 1, "l": 1}, {"b": 2, "l": 3}, {"b": 3, "l": 61})
def conv1d_causal(case, b, l):
    x, w = case.normal("x", "bf16", b, 64, l), case.normal("w", "bf16", 64, 4)
    bias = case.normal("bias", "bf16", 64)
    # the last tap weighs the present: a convolution with the reversed filter, cut to what has been seen
    seen = [[np.convolve(row, taps[::-1])[:l] for row, taps in zip(img, w)] for img in x]
    return {"y": silu(np.array(seen) + bias[:, None])}


@kernel("conv2d_pointwise", *BATCHES)
def conv2d_pointwise(case, b):
    x, w = case.normal("x", "f32", b, 64, 14, 14), case.normal("w", "f32", 64, 64)
    return {"y": np.tensordot(x, w, axes=(1, 1)).transpose(0, 3, 1, 2)}


@kernel("conv2d_depthwise", *BATCHES)
def conv2d_depthwise(case, b):
    x, w = case.normal("x", "f32", b, 32, 28, 28), case.normal("w", "f32", 32, 3, 3)
    return {"y": [[signal.correlate2d(plane, filt, "same") for plane, filt in zip(img, w)] for img in x]}


@kernel("conv2d_grouped", *BATCHES)
def conv2d_grouped(case, b):
    x, w = case.normal("x", "f32", b, 32, 14, 14), case.normal("w", "f32", 64, 8, 3, 3)
    groups = zip(np.split(x, 4, axis=1), np.split(w, 4, axis=0))
    return {"y": np.concatenate([correlate(part, filters, padding=1) for part, filters in groups], axis=1)}


@kernel("conv_transpose2d", *BATCHES)
def conv_transpose2d(case, b):
    x, w = case.normal("x", "f32", b, 32, 14, 14), case.normal("w", "f32", 32, 16, 4, 4)
    stamped = np.zeros((b, 16, 30, 30))
    for i in range(14):
        for j in range(14):
            stamped[:, :, 2 * i : 2 * i + 4, 2 * j : 2 * j + 4] += np.tensordot(x[:, :, i, j], w, axes=1)
    return {"y": stamped[:, :, 1:-1, 1:-1]}
