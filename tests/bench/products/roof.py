"""The roof of a product of bf16 on a card: the least time for its bytes or its operations. Knows no measurement.

Figures are those of `cutegen-build/src/plan/device_model.rs`; `tests/suite/products.rs` holds this against roofs of committed records.
"""

# share of the bytes that is read: bytes a second; operations a second of tensor cores
CARDS = {"NVIDIA H200": ([(1 / 2, 4.29e12), (2 / 3, 4.39e12), (1, 4.68e12)], 830e12)}


def micros(card, m, n, k):
    """Microseconds; None on a card without figures."""
    if (name := card.split(",")[0]) not in CARDS:
        return None
    streams, operations = CARDS[name]
    read, written = 2 * (m * k + n * k), 2 * m * n
    memory = (read + written) / between(streams, read / (read + written))
    return 1e6 * max(memory, 2 * m * n * k / operations)


def between(points, at):
    """Linear between neighbours, and level beyond the ends."""
    if at <= points[0][0]:
        return points[0][1]
    for (low, low_rate), (high, high_rate) in zip(points, points[1:]):
        if at <= high:
            return low_rate + (high_rate - low_rate) * (at - low) / (high - low)
    return points[-1][1]


def share(card, extents, ours_us):
    """A cell's field: which share of the roof ours reaches; nothing on a card without figures."""
    least = micros(card, *extents)
    return {"roof": round(least / ours_us, 3)} if least else {}
