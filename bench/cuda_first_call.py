#!/usr/bin/env python3
"""The convolutions of `cuda_first_call --json` through PyTorch: first calls and later ones.

  cuda_first_call.py ROWS.json [--mode default|benchmark|inductor] [--only N] [--json]

`default` is cuDNN by its heuristics, `benchmark` sets torch.backends.cudnn.benchmark, and
`inductor` compiles one function with mode="max-autotune" for every shape. One process for each
mode, so that none finds what another one has learned. Times are from the call to the end of
torch.cuda.synchronize(). f32 without tensor cores, as attune's problems say.
"""

import argparse
import json
import re
import statistics
import sys
import time

STEADY_CALLS = 9


def fields(problem):
    """The numbers and words of a problem's text, with its defaults."""
    found = dict(re.findall(r"(\w+)=(\w+)", problem))
    number = {name: int(found.get(name, 0 if name in ("ph", "pw") else 1)) for name in
              ("n", "c", "h", "w", "k", "fh", "fw", "ph", "pw", "sh", "sw")}
    return number, found.get("type", "f32")


def operands(torch, number, type_name):
    dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[type_name]

    def random(*names):
        return torch.randn(*(number[name] for name in names), device="cuda", dtype=dtype)

    return random("n", "c", "h", "w"), random("k", "c", "fh", "fw")


def timed_us(torch, call):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return 1e6 * (time.perf_counter() - begin)


def convolution(torch, mode, number):
    def plain(image, weights):
        return torch.nn.functional.conv2d(image, weights, stride=(number["sh"], number["sw"]),
                                          padding=(number["ph"], number["pw"]))
    if mode != "inductor":
        return plain
    # Every shape by itself, as the other modes see it.
    torch._dynamo.reset()
    return torch.compile(plain, mode="max-autotune-no-cudagraphs", dynamic=False)


def measure(torch, problems, mode):
    torch.backends.cudnn.benchmark = mode == "benchmark"
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    # Libraries are loaded before.
    warm = fields("n=1,c=16,h=32,w=32,k=16,fh=3,fw=3")[0]
    for type_name in ("f32", "f16"):
        image, weights = operands(torch, warm, type_name)
        convolution(torch, mode, warm)(image, weights)
    rows = []
    for problem in problems:
        number, type_name = fields(problem)
        image, weights = operands(torch, number, type_name)
        function = convolution(torch, mode, number)
        first = timed_us(torch, lambda: function(image, weights))
        later = [timed_us(torch, lambda: function(image, weights)) for _ in range(STEADY_CALLS)]
        rows.append({"problem": problem, "first_us": first, "steady_us": statistics.median(later)})
        print(f"{len(rows)} of {len(problems)}", file=sys.stderr)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows", help="what `cuda_first_call --json` printed")
    parser.add_argument("--mode", choices=["default", "benchmark", "inductor"], default="default")
    parser.add_argument("--only", type=int, default=0, metavar="N", help="the first N shapes")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    import torch
    with open(options.rows, encoding="utf-8") as file:
        problems = [row["problem"] for row in json.load(file)["rows"]]
    rows = measure(torch, problems[:options.only or None], options.mode)
    summary = {"mode": options.mode, "pictures": len(rows), "torch": torch.__version__,
               "first_median_us": statistics.median(row["first_us"] for row in rows),
               "first_worst_us": max(row["first_us"] for row in rows),
               "steady_median_us": statistics.median(row["steady_us"] for row in rows)}
    if options.json:
        print(json.dumps({"summary": summary, "rows": rows}, indent=2))
        return
    for name, value in summary.items():
        print(f"{name:<20} {value if isinstance(value, (str, int)) else round(value, 1)}")


if __name__ == "__main__":
    main()
