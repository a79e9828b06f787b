"""Element types: rounding to nearest even in float64, and the bytes of a tensor in each type."""

import numpy as np

# mantissa bits, smallest normal exponent, exponent bias, largest finite value
NARROW = {
    "bf16": (7, -126, 127, float.fromhex("0x1.fep127")),
    "f8e4m3": (3, -6, 7, 448.0),
    "f8e5m2": (2, -14, 15, 57344.0),
}
FLOATS = {"f64": "<f8", "f32": "<f4", "f16": "<f2"}
INTEGERS = {"i8": "<i1", "u8": "<u1", "i32": "<i4", "i64": "<i8", "bool": "<u1"}
NIBBLES = {"i4": (-8, 7), "u4": (0, 15)}


def _exponent(values):
    bits = np.abs(values).view(np.uint64)
    return (bits >> np.uint64(52)).astype(np.int64) - 1023


def round_to(dtype, values):
    """The elements of `values` that a tensor of `dtype` holds, as float64. fp8 saturates, bf16 overflows to inf."""
    values = np.array(values, np.float64, order="C", ndmin=1).reshape(np.shape(values))
    if dtype in FLOATS:
        return values.astype(FLOATS[dtype]).astype(np.float64)
    if dtype in INTEGERS or dtype in NIBBLES:
        assert np.array_equal(values, np.rint(values)), f"{dtype} holds integers"
        return values
    mantissa, smallest, _, largest = NARROW[dtype]
    step = np.ldexp(1.0, np.maximum(_exponent(values), smallest) - mantissa)
    rounded = np.rint(values / step) * step
    if dtype == "bf16":
        return np.where(np.abs(rounded) > largest, np.copysign(np.inf, rounded), rounded)
    return np.clip(rounded, -largest, largest)


def encode(dtype, values):
    """The bytes of a row-major tensor whose elements `dtype` holds exactly."""
    values = np.ascontiguousarray(values, np.float64).reshape(-1)
    if dtype in FLOATS:
        return values.astype(FLOATS[dtype]).tobytes()
    if dtype in INTEGERS:
        return values.astype(INTEGERS[dtype]).tobytes()
    if dtype in NIBBLES:
        nibbles = values.astype(np.int64) & 15
        nibbles = np.append(nibbles, np.zeros(len(nibbles) % 2, np.int64))
        return (nibbles[0::2] | nibbles[1::2] << 4).astype(np.uint8).tobytes()
    mantissa, smallest, bias, _ = NARROW[dtype]
    magnitude = np.abs(values)
    normal = (magnitude.view(np.uint64) >> np.uint64(52 - mantissa)).astype(np.int64) - ((1023 - bias) << mantissa)
    subnormal = np.ldexp(np.minimum(magnitude, np.ldexp(1.0, smallest)), mantissa - smallest).astype(np.int64)
    sign = np.signbit(values).astype(np.int64) << (15 if dtype == "bf16" else 7)
    code = sign | np.where(magnitude >= np.ldexp(1.0, smallest), normal, subnormal)
    return code.astype("<u2" if dtype == "bf16" else "<u1").tobytes()
