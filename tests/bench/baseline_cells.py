"""What baselines.py measures: the shapes, and each incumbent's way to compute them. Order is importance."""

LLAMA = {"qkv8b": (6144, 4096), "o8b": (4096, 4096), "gateup8b": (28672, 4096), "down8b": (4096, 14336), "o70b": (8192, 8192),
         "down70b": (8192, 28672)}  # n, k
OTHERS = [(4096, 2112, 7168), (777, 1536, 4104), (2048, 3584, 3584), (512, 7168, 2048), (300, 5000, 1000)]
ROWS = [(16, 4096), (2048, 4096), (16384, 4096), (16384, 8192), (4096, 32768), (4096, 131072)]
ATTENTION = [(4, 32, 2048, 128, True), (1, 32, 8192, 128, True), (1, 32, 16384, 128, True), (4, 32, 2048, 128, False),
             (1, 32, 16384, 128, False), (8, 16, 1024, 64, True)]

MEMORY = {  # inputs of rows x columns, vectors of columns, expression
    "rms": (["x"], ["w"], "x * torch.rsqrt((x.float() * x.float()).mean(-1, keepdim=True) + 1e-5).to(x.dtype) * w"),
    "rms_native": (["x"], ["w"], "F.rms_norm(x, (x.shape[-1],), w, 1e-5)"),
    "add_rms": (["x", "r"], ["w"], "(lambda h: (h, F.rms_norm(h, (h.shape[-1],), w, 1e-5)))(x + r)"),
    "ln": (["x"], ["w", "b"], "F.layer_norm(x, (x.shape[-1],), w, b)"),
    "sm": (["x"], [], "torch.softmax(x, -1)"),
    "silu_mul": (["x", "g"], [], "F.silu(g) * x"),
    "gelu": (["x"], [], "F.gelu(x)"),
    "relu": (["x"], [], "torch.relu(x)"),
    "newgelu": (["x"], [], "0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x ** 3)))"),
    "softsign": (["x"], [], "x / (1 + torch.abs(x))"),
}
FUSED = {  # over x [m, k] and w [n, k]
    "bias_gelu": (["b"], "F.gelu(F.linear(x, w, b))"),
    "swiglu": ([], "(lambda y: F.silu(y[0]) * y[1])(F.linear(x, w).chunk(2, -1))"),
    "resid": (["r"], "torch.addmm(r, x, w.T)"),
}
EAGER, COMPILE, TUNED, LT = "eager", "compile", "compile-max-autotune", "cublaslt"


def dense(dtype, *shape):
    return {"dtype": dtype, "shape": list(shape)}


def gemm(name, m, n, k, nt=True, dtype="bf16", tf32=False, fp8=False):
    inputs = {"x": dense(dtype, m, k), "w": dense(dtype, n, k) if nt else dense(dtype, k, n)}
    expression, out = ("x @ w.T" if nt else "x @ w"), dtype
    if fp8:
        inputs |= {"sx": dense("f32"), "sw": dense("f32")}
        expression, out = "torch._scaled_mm(x, w.T, sx, sw, out_dtype=torch.bfloat16)", "bf16"
    family = "gemm_fp8" if fp8 else "gemm_tf32" if tf32 else f"gemm_{dtype}"
    return {"family": family, "name": name, "inputs": inputs, "expression": expression, "incumbents": [LT, EAGER], "tf32": tf32,
            "gemm": {"m": m, "n": n, "k": k, "nt": nt, "types": [dtype, dtype, out], "tf32": tf32}}


def gemms():
    for name, (n, k) in LLAMA.items():
        yield from (gemm(f"{name}_m{m}", m, n, k) for m in (1, 16, 64, 128, 512, 2048, 8192))
    yield from squares(1024, 2048, 4096, 8192)
    yield from (gemm(f"m{m}_n{n}_k{k}", m, n, k) for m, n, k in OTHERS)
    for name, (n, k) in LLAMA.items():
        yield from (gemm(f"{name}_m{m}", m, n, k, dtype="f8e4m3", fp8=True) for m in (16, 128, 2048, 8192))
    for size in (2048, 4096):
        yield from (gemm(f"sq{size}_nn", size, size, size, False, "f32", tf32) for tf32 in (False, True))


def squares(*sizes):
    for size in sizes:
        yield from (gemm(f"sq{size}_{'tn' if nt else 'nn'}", size, size, size, nt) for nt in (True, False))


def memory(op, rows, columns, dtype="bf16"):
    full, vectors, expression = MEMORY[op]
    inputs = {name: dense(dtype, rows, columns) for name in full} | {name: dense(dtype, columns) for name in vectors}
    return {"family": f"mem_{dtype}", "name": f"{op}_{rows}x{columns}", "inputs": inputs, "expression": expression,
            "incumbents": [EAGER, COMPILE], "tf32": False}


def memories():
    for op in ("rms", "rms_native", "add_rms", "ln", "sm", "silu_mul", "gelu"):
        yield from (memory(op, *shape) for shape in ROWS if not (op == "add_rms" and shape[1] == 131072))
    yield from (memory(op, 4096, 65536, "f32") for op in ("relu", "gelu", "newgelu", "softsign", "sm"))
    shape = (64, 256, 256)
    yield {"family": "mem_f32", "name": "kb40_layernorm", "inputs": {"x": dense("f32", 16, *shape), "w": dense("f32", *shape), "b": dense("f32", *shape)},
           "expression": f"F.layer_norm(x, {shape}, w, b)", "incumbents": [EAGER, COMPILE], "tf32": False}
    yield {"family": "mem", "name": "copy_2GiB", "inputs": {"x": dense("u8", 1 << 31)}, "expression": "x.clone()", "incumbents": [EAGER], "tf32": False}


def fused(incumbents):
    for name in ("gateup8b", "o8b"):
        n, k = LLAMA[name]
        for m in (16, 512, 4096):
            for op, (more, expression) in FUSED.items():
                extra = {"b": dense("bf16", n), "r": dense("bf16", m, n)}
                inputs = {"x": dense("bf16", m, k), "w": dense("bf16", n, k)} | {e: extra[e] for e in more}
                yield {"family": "gemm_fused", "name": f"{op}_{name}_m{m}", "inputs": inputs, "expression": expression, "incumbents": incumbents,
                       "tf32": False}


def attentions():
    for b, h, s, d, causal in ATTENTION:
        inputs = {name: dense("bf16", b, h, s, d) for name in ("q", "k", "v")}
        for backend in ("FLASH_ATTENTION", "CUDNN_ATTENTION"):
            yield {"family": "attn_bf16", "name": f"b{b}h{h}s{s}d{d}{'c' if causal else ''} {backend}", "inputs": inputs, "backend": backend,
                   "expression": f"F.scaled_dot_product_attention(q, k, v, is_causal={causal})", "incumbents": [EAGER], "tf32": False}


def convolutions():
    inputs = {"x": dense("f32", 256, 3, 224, 224), "w": dense("f32", 96, 3, 11, 11), "b": dense("f32", 96)}
    conv = "F.conv2d(x, w, b, stride=4, padding=2)"
    for tf32 in (True, False):
        yield {"family": "conv", "name": f"kb50_alexnet_conv1_b256 {'tf32' if tf32 else 'fp32'}", "inputs": inputs, "expression": conv, "incumbents": [EAGER],
               "tf32": tf32}
    yield {"family": "conv", "name": "conv_relu_maxpool_b256 tf32", "inputs": inputs, "expression": f"F.max_pool2d(torch.relu({conv}), 3, 2)",
           "incumbents": [EAGER, COMPILE], "tf32": True}


def cells():
    yield from gemms()
    yield from memories()
    yield from attentions()
    yield from fused([EAGER, COMPILE])
    yield from convolutions()
    yield from squares(16384)
    for cell in fused([EAGER, TUNED]):
        yield {**cell, "name": f"{cell['name']} tuned"}
