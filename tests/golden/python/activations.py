"""Activations by their definitions, for the families that share them."""

import numpy as np
from scipy import special


def relu(x):
    return np.maximum(x, 0)


def gelu(x):
    return x * special.ndtr(x)


def gelu_tanh(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def silu(x):
    return x * special.expit(x)


def softplus(x):
    return np.logaddexp(0, x)
