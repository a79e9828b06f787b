"""Makes rows of results/raw/example_h200.json from what the example's `gpu` printed.

    cargo run --release -p example-app --bin gpu > FILE
    python3 tests/bench/example.py FILE COMMIT "NVIDIA H200, sm_90, driver ..."

Whether the products of the MLP block are tuned or naive, the program says.
"""

import pathlib
import re
import sys

import raw

COMMAND = "cargo run --release -p example-app --bin gpu"
PRODUCTS = ("llama_gate_up", "llama_down")
# of each kind of products: what a replay is bounded by, and what a reader should know
KINDS = {"naive": ("no product had a template for devices at that commit", "tuned products are accepted since, and not measured here"),
         "tuned": ("memory at few tokens, tensor cores at many", "")}


def products(block):
    """Whether the program said that the products are tuned."""
    said = re.findall(rf"(?m)^ +(?:{'|'.join(PRODUCTS)}) .*?(NOT tuned|tuned on)", block)
    assert len(set(said)) == 1, f"products are {said}"
    return "tuned" if said[0] == "tuned on" else "naive"


def numbers(pattern, text):
    return [float(found) for found in re.findall(pattern, text)]


def right(wrong, unit):
    """The bar is that none is wrong."""
    return {"unit": unit, "statistic": "median", "at_least": len(wrong), "bounded_by": "nothing: none is wrong", "samples": [sum(count == 0 for count in wrong)]}


def rows(text):
    """A row a part; none of a part that was not run."""
    lengths, order, block = (re.search(rf"(?:^|\n\n)((?:(?!\n\n)[\s\S])*)\n{part}: right", text) for part in ("lengths", "order", "block"))
    share = lambda part: f"worst error / bound {max(numbers(r'bound +([0-9.]+)%', part)):.1f} %"
    if lengths:
        yield {"bar": "example on a GPU, lengths and addresses", "shows": "SwiGLU's product at lengths around its vectors, aligned and one element off, each element against f64",
               "note": share(lengths[1]), **right(numbers(r"(\d+) wrong", lengths[1]), "lengths")}
    if order:
        guarded, unguarded = (numbers(r"(\d+) (?:read|written) too early", line) for line in order[1].strip().splitlines()[-2:])
        yield {"bar": "example on a GPU, two streams that share memory", "shows": "whether 20 trials read, and 20 wrote, in order, by the wrapper's guards",
               "note": f"without event tracking, and so without guards, {unguarded[0]:.0f} of 20 read and {unguarded[1]:.0f} of 20 wrote too early", **right(guarded, "directions")}
    if block:
        kind = products(block[1])
        bounded_by, note = KINDS[kind]
        yield {"bar": "example on a GPU, Llama 3 8B's MLP block", "shows": f"one CUDA graph of three emitted wrappers at 1, 16 and 512 tokens, against f64; the norm is tuned, the products are {kind} kernels",
               "note": share(block[1]), **right(numbers(r"(\d+) wrong", block[1]), "kernels")}
        for tokens, us in re.findall(r"(\d+) tokens: ([0-9.]+) us", block[1]):
            yield {"bar": f"Llama 3 8B's MLP block with {kind} products, tokens: {tokens}", "shows": f"a replay of that graph, nearly all of it {kind} matrix products",
                   **({"note": note} if note else {}), "unit": "us", "statistic": "median", "bounded_by": bounded_by, "samples": [float(us)]}
    for replays, wrong, elements in re.findall(r"(\d+) replays of one graph.*: (\d+) wrong; (\d+) elements", text):
        count = int(replays) if int(wrong) == 0 else 0
        yield {"bar": "example on a GPU, replays of one graph", "shows": "captured at 1 token, new inputs each, against f64", "unit": "replays", "statistic": "median", "at_least": int(replays),
               "bounded_by": "nothing: none is wrong", "note": f"{int(elements):,} elements compared", "samples": [count]}


def main(path, commit, machine):
    found = list(rows(pathlib.Path(path).read_text()))
    assert found, "nothing was run"
    raw.write(raw.ROOT / "results/raw/example_h200.json", [{**row, "command": COMMAND, "machine": machine, "commit": commit} for row in found])


if __name__ == "__main__":
    main(*sys.argv[1:4])
