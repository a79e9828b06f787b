"""f32_errors.py COMMAND: errors of our f32 products and of cuBLAS SGEMM against f64, on the same inputs; JSON lines."""
import json, struct, subprocess, sys, os, torch
torch.backends.cuda.matmul.allow_tf32 = False
def save(path, tensors):
    head, at, blobs = {}, 0, []
    for name, t in tensors.items():
        b = t.contiguous().cpu().numpy().tobytes()
        head[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [at, at + len(b)]}
        at += len(b); blobs.append(b)
    h = json.dumps(head).encode(); h += b" " * (-len(h) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(h)) + h)
        for b in blobs: f.write(b)
def load(path, name):
    raw = open(path, "rb").read(); n = struct.unpack("<Q", raw[:8])[0]; e = json.loads(raw[8:8 + n])[name]
    return torch.frombuffer(bytearray(raw[8 + n + e["data_offsets"][0]: 8 + n + e["data_offsets"][1]]), dtype=torch.float32).reshape(e["shape"])
for kernel in sys.argv[2:]:
    n = int(kernel.split("_")[-1])
    for kind in ("normal", "wide"):
        g = torch.Generator(device="cuda"); g.manual_seed(7)
        make = lambda: torch.randn(n, n, generator=g, device="cuda") * (torch.exp2(torch.rand(n, n, generator=g, device="cuda") * 24 - 12) if kind == "wide" else 1)
        x, w = make(), make()
        right = w.T if "_nt_" in kernel else w
        want = x.double() @ right.double()
        scale = (x.double().abs() @ right.double().abs())  # of each sum's terms
        save("/tmp/in.safetensors", {"x": x, "w": w})
        r = subprocess.run([sys.argv[1], "cutegen", "run", kernel, "--target", "sm_90a", "--in", "/tmp/in.safetensors", "--out", "/tmp/out.safetensors", "--specs", "specs", "--cache", "cache"], capture_output=True, text=True)
        if r.returncode: print(kernel, r.stderr[-600:]); continue
        ours = load("/tmp/out.safetensors", "y").cuda().double()
        theirs = (x @ right).double()
        def errors(y):
            e = (y - want).abs()
            return {"max": e.max().item(), "rms": e.square().mean().sqrt().item(), "max_of_terms": (e / scale).max().item(), "rms_of_terms": (e / scale).square().mean().sqrt().item()}
        print(json.dumps({"kernel": kernel, "inputs": kind, "ours": errors(ours), "sgemm": errors(theirs)}), flush=True)
