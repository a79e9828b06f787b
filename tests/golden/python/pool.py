"""kernel-specs/pool/"""

import numpy as np

from case import kernel

BATCHES = [{"b": 1}, {"b": 2}, {"b": 3}]


def windows(x, size, stride, dilation=1):
    """Every window of `size` points along each dimension of space, its points in the last dimension."""
    space = tuple(range(2, x.ndim))
    reach = (size - 1) * dilation + 1
    found = np.lib.stride_tricks.sliding_window_view(x, (reach,) * len(space), axis=space)
    found = found[(slice(None), slice(None), *[slice(None, None, stride)] * len(space))]
    found = found[(..., *[slice(None, None, dilation)] * len(space))]
    return found.reshape(*found.shape[: x.ndim], -1)


def pool(name, image, function, size, stride, padding=0, border=0.0, dilation=1):
    @kernel(name, *BATCHES)
    def golden(case, b):
        x = case.normal("x", "f32", b, *image)
        edges = [(0, 0), (0, 0)] + [(padding, padding)] * (len(image) - 1)
        return {"y": function(windows(np.pad(x, edges, constant_values=border), size, stride, dilation), axis=-1)}


pool("max_pool1d", (64, 512), np.max, 8, 4)
pool("max_pool2d", (32, 28, 28), np.max, 2, 2)
pool("max_pool2d_padded", (32, 29, 28), np.max, 3, 2, padding=1, border=-np.inf)
pool("max_pool3d", (16, 12, 14, 16), np.max, 3, 2, dilation=2)
pool("avg_pool1d", (32, 512), np.mean, 4, 2, padding=1)
pool("avg_pool2d", (32, 28, 28), np.mean, 3, 3)
pool("avg_pool3d", (16, 8, 16, 16), np.mean, 2, 2)


@kernel("global_avg_pool", *BATCHES)
def global_avg_pool(case, b):
    return {"y": case.normal("x", "f32", b, 256, 7, 7).reshape(b, 256, 49).mean(axis=-1)}
