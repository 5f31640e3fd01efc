#!/usr/bin/env python3
"""Time batch norm and softmax in PyTorch, eager and compiled, and compare them with attune.

  ops_torch.py [--set batch_norm|softmax] [--json FILE] [--ours FILE]... [--minutes M]
               [--only TEXT] [--shard I/N] [--shapes FILE] [--list]

Reads the shapes of cuda_ops. Times are device times of one call: CUDA graphs of calls that step
through copies of the operands, replayed between two events. A row that FILE of --json has is not
timed again. With files of `cuda_ops --json` the last table compares the two: time of PyTorch over
time of attune. Exits with 77 if a row needs a GPU or PyTorch and there is none.
"""

import argparse
import json
import math
import os
import re
import statistics
import sys
import time

SKIPPED = 77
INCOMPLETE = 3
SHAPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "ops_shapes.txt")
ROTATION_BYTES = 512 << 20  # As cuda_ops.
MOST_COPIES = 256
WARM_UPS = 3
SAMPLE_MS = 3
SAMPLES = 15
EPSILON = 1e-5
MOMENTUM = 0.1
SLOW = 0.98
SIDES = ("eager", "compile")
DEFAULTS = {"dir": {"batch_norm": "train", "softmax": "fwd"}, "type": "f32", "fuse": "none"}


# -- Shapes --

def parse(text):
    """{"op": "softmax", "outer": 16, ...}: the fields of a problem text, numbers as integers."""
    found = re.fullmatch(r"(\w+)@\d+\{(.*)\}", text)
    if found is None:
        raise ValueError(f"'{text}' is not the text of a problem")
    problem = {"op": found[1], "type": DEFAULTS["type"], "fuse": DEFAULTS["fuse"],
               "dir": DEFAULTS["dir"][found[1]]}
    for field in found[2].split(","):
        key, value = field.split("=")
        problem[key] = int(value) if value.isdigit() else value
    if problem["op"] == "batch_norm":
        problem.setdefault("layout", "ncdhw" if problem.get("d", 1) > 1 else "nchw")
    return problem


def extents_of(problem):
    """The extents of the tensor in the order of PyTorch."""
    if problem["op"] == "softmax":
        inner = problem.get("inner", 1)
        return [problem["outer"], problem["length"]] + ([inner] if inner > 1 else [])
    extents = [problem["n"], problem["c"]]
    if problem["layout"] in ("ncdhw", "ndhwc"):
        return extents + [problem.get(key, 1) for key in "dhw"]
    image = [problem.get("h", 1), problem.get("w", 1)]
    return extents if image == [1, 1] and problem["layout"] == "nchw" else extents + image


def mib_of(problem):
    """The size of the tensor in MiB."""
    return math.prod(extents_of(problem)) * (4 if problem["type"] == "f32" else 2) / (1 << 20)


def row_name(problem):
    """The row of the last table that the problem counts in."""
    if mib_of(problem) < 1:
        return "small"
    if problem["op"] == "softmax":
        return "softmax"
    name = {"train": "training forward", "bwd": "training backward", "infer": "inference"}
    last = problem["layout"] in ("nhwc", "ndhwc")
    if last and problem["dir"] != "infer":
        return f"{name[problem['dir']]} NHWC"
    return f"{name[problem['dir']]} {problem['type']} {'NHWC' if last else 'NCHW'}"


def read_shapes(path, options):
    with open(path, encoding="utf-8") as file:
        texts = [line.strip() for line in file]
    texts = [text for text in texts if text and not text.startswith("#")]
    chosen = [text for text in texts if options.set in ("", parse(text)["op"])
              and options.only in text]
    index, count = shard_of(options.shard)
    return chosen[index - 1::count]


def shard_of(text):
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        sys.exit(f"ops_torch: cannot use --shard {text}: expected I/N with 1 <= I <= N")
    return int(found[1]), int(found[2])


# -- PyTorch --

class Untimed(Exception):
    """PyTorch has no such operation."""


class Calls:
    """The operands of one problem, in several copies, and the calls that compute it."""

    def __init__(self, torch, problem):
        self.torch = torch
        self.problem = problem
        if problem.get("mode", "spatial") != "spatial" or problem.get("mask", "none") != "none":
            raise Untimed("PyTorch has no such operation")
        self.is_training = problem["dir"] in ("train", "bwd") and problem["op"] == "batch_norm"
        self.has_gradient = problem["dir"] in ("train", "bwd")
        tensors = 3 if problem["dir"] == "bwd" else 2
        copies = int(ROTATION_BYTES / (mib_of(problem) * (1 << 20) * tensors)) + 1
        self.sets = [self.operands() for _ in range(min(copies, MOST_COPIES))]

    def tensor(self):
        torch = self.torch
        types = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
        x = torch.randn(extents_of(self.problem), device="cuda").to(types[self.problem["type"]])
        formats = {"nhwc": torch.channels_last, "ndhwc": torch.channels_last_3d}
        layout = self.problem.get("layout", "")
        return x.contiguous(memory_format=formats[layout]) if layout in formats else x

    def operands(self):
        """x, then the residual, then gamma, beta and the running statistics."""
        torch = self.torch
        operands = [self.tensor().requires_grad_(self.has_gradient)]
        if self.problem["op"] == "softmax":
            return operands
        if "add" in self.problem["fuse"]:
            operands.append(self.tensor().requires_grad_(self.has_gradient))
        channels = self.problem["c"]
        if self.problem.get("affine", 1):
            for fill in (torch.ones, torch.zeros):
                operands.append(fill(channels, device="cuda").requires_grad_(self.has_gradient))
        operands.append(torch.zeros(channels, device="cuda"))
        operands.append(torch.ones(channels, device="cuda"))
        return operands

    def forward(self):
        """A function of the operands."""
        functional = self.torch.nn.functional
        problem, is_training = self.problem, self.is_training
        if problem["op"] == "softmax":
            apply = functional.log_softmax if problem.get("log", 0) else functional.softmax
            return lambda x: apply(x, dim=1)
        has_add = "add" in problem["fuse"]
        has_relu = "relu" in problem["fuse"]
        is_affine = bool(problem.get("affine", 1))

        def norm(x, *rest):
            rest = list(rest)
            residual = rest.pop(0) if has_add else None
            gamma, beta = (rest.pop(0), rest.pop(0)) if is_affine else (None, None)
            y = functional.batch_norm(x, rest[0], rest[1], gamma, beta, is_training, MOMENTUM,
                                      EPSILON)
            y = y + residual if has_add else y
            return functional.relu(y) if has_relu else y

        return norm

    def time_us(self, function):
        """The time of one call: of the forward pass, or of the backward pass alone."""
        if self.problem["dir"] != "bwd":
            return self.graph_us([lambda s=s: function(*s) for s in self.sets])
        try:
            return self.backward_us(function)
        except RuntimeError as error:
            print(f"ops_torch: cannot capture the backward pass alone ({error}); using the "
                  "difference of both passes and the forward pass", file=sys.stderr)
            self.torch.cuda.synchronize()
        upstream = self.tensor()
        both = self.graph_us([lambda s=s: self.gradients(function(*s), s, upstream, False)
                              for s in self.sets])
        return both - self.graph_us([lambda s=s: function(*s) for s in self.sets])

    def gradients(self, y, operands, upstream, retain):
        leaves = [operand for operand in operands if operand.requires_grad]
        return self.torch.autograd.grad(y, leaves, upstream, retain_graph=retain)

    def backward_us(self, function):
        """Autograd computes on the stream of the forward pass, which must be that of the graph."""
        stream = self.torch.cuda.Stream()
        stream.wait_stream(self.torch.cuda.current_stream())
        with self.torch.cuda.stream(stream):
            passed = [(function(*operands), operands, self.tensor()) for operands in self.sets]
        return self.graph_us([lambda p=p: self.gradients(*p, True) for p in passed], stream)

    def graph_us(self, calls, stream=None):
        """The time of one call: the median over replays of a graph of all calls."""
        torch = self.torch
        stream = stream or torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for call in (calls * WARM_UPS)[:WARM_UPS]:
                call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        kept = []  # Otherwise every call would write to the same memory, which stays in the cache.
        with torch.cuda.graph(graph, stream=stream):
            for call in calls:
                kept.append(call())
        self.replays_ms(graph, 1)
        once_ms = self.replays_ms(graph, 1)
        replays = max(1, math.ceil(SAMPLE_MS / max(once_ms, 1e-3)))
        samples = [self.replays_ms(graph, replays) / replays for _ in range(SAMPLES)]
        return statistics.median(samples) * 1e3 / len(calls)

    def replays_ms(self, graph, count):
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(count):
            graph.replay()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)


def lift_limits(torch):
    """Every shape is compiled for its sizes, and none falls back to eager."""
    for name in ("cache_size_limit", "recompile_limit", "accumulated_cache_size_limit",
                 "accumulated_recompile_limit"):
        if hasattr(torch._dynamo.config, name):
            setattr(torch._dynamo.config, name, 1 << 20)
    # The backward pass is replayed, so that it must not give its inputs away.
    import torch._functorch.config as functorch
    if hasattr(functorch, "donated_buffer"):
        functorch.donated_buffer = False


def measure(torch, text):
    """The row of a problem."""
    problem = parse(text)
    calls = Calls(torch, problem)
    function = calls.forward()
    row = {"problem": text, "eager_us": calls.time_us(function)}
    torch._dynamo.reset()
    row["compile_us"] = calls.time_us(torch.compile(function, dynamic=False))
    return row


def torch_with_gpu():
    try:
        import torch
    except ImportError:
        print("SKIPPED: there is no PyTorch here.", file=sys.stderr)
        sys.exit(SKIPPED)
    if not torch.cuda.is_available():
        print("SKIPPED: there is no GPU here.", file=sys.stderr)
        sys.exit(SKIPPED)
    import torch._dynamo
    lift_limits(torch)
    return torch


# -- Rows --

def read_rows(path):
    """{problem: row} of a file of rows; empty if there is no such file."""
    if not path or not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return {row["problem"]: row for row in json.load(file)["rows"]}


def write_rows(path, rows, about):
    if not path:
        return
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump({"summary": about, "rows": list(rows.values())}, file, indent=2)
        file.write("\n")
    os.replace(path + ".part", path)


def measure_all(texts, options):
    """Rows of the problems, and how many are missing."""
    rows = read_rows(options.json)
    missing = [text for text in texts if text not in rows]
    if not missing:
        return rows, 0
    torch = torch_with_gpu()
    about = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name()}
    end_s = time.monotonic() + options.minutes * 60
    left = len(missing)
    for text in missing:
        if time.monotonic() >= end_s:
            break
        try:
            row = measure(torch, text)
        except Exception as error:  # One shape must not end the run: memory, a compiler.
            print(f"{text}: {type(error).__name__}: {error}", file=sys.stderr)
            torch.cuda.empty_cache()
            continue
        rows[text] = row
        left -= 1
        print(f"{text:<72} {row['eager_us']:>10.2f} {row['compile_us']:>10.2f}", flush=True)
        write_rows(options.json, rows, about)
    return rows, left


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values))


def merged(texts, torch_rows, our_rows):
    """One row for each problem that both have."""
    rows = []
    for text in texts:
        if text not in torch_rows or text not in our_rows:
            continue
        row = dict(our_rows[text], row=row_name(parse(text)), **{
            f"{side}_us": torch_rows[text][f"{side}_us"] for side in SIDES})
        for side in SIDES:
            row[f"over_{side}"] = row[f"{side}_us"] / row["time_us"]
        rows.append(row)
    return rows


def table_of(rows):
    """The lines of the comparison."""
    lines = [f"{'problem':<72} {'MiB':>8} {'floor us':>9} {'attune':>9} {'eager':>9} "
             f"{'compile':>9} {'/eager':>7} {'/compile':>8}  candidate"]
    for row in rows:
        lines.append(f"{row['problem']:<72} {row['mib']:>8.2f} {row['floor_us']:>9.2f} "
                     f"{row['time_us']:>9.2f} {row['eager_us']:>9.2f} {row['compile_us']:>9.2f} "
                     f"{row['over_eager']:>7.2f} {row['over_compile']:>8.2f}  "
                     f"{row.get('candidate', '')}")
    lines += ["", f"{'geometric mean':<28} {'shapes':>6} {'/eager':>7} {'/compile':>8} "
              f"{'/floor':>7}"]
    for name in sorted({row["row"] for row in rows}, key=lambda name: (name == "small", name)):
        chosen = [row for row in rows if row["row"] == name]
        means = [geometric_mean([row[f"over_{side}"] for row in chosen]) for side in SIDES]
        floor = geometric_mean([row["time_us"] / row["floor_us"] for row in chosen])
        lines.append(f"{name:<28} {len(chosen):>6} {means[0]:>7.2f} {means[1]:>8.2f} "
                     f"{floor:>7.2f}")
    slow = [(row, side) for row in rows for side in SIDES if row[f"over_{side}"] < SLOW]
    lines += ["", f"{len(slow)} times below {SLOW}"]
    lines += [f"  {row['problem']:<72} {row[f'over_{side}']:.3f} of {side}" for row, side in slow]
    return lines


def read_options(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", default="", choices=["", "batch_norm", "softmax"],
                        help="only this operator")
    parser.add_argument("--json", default="", help="write the rows here, and keep those it has")
    parser.add_argument("--ours", action="append", default=[], help="a file of cuda_ops --json")
    parser.add_argument("--minutes", type=float, default=9, help="time limit for the run")
    parser.add_argument("--only", default="", help="only problems with this in their text")
    parser.add_argument("--shard", default="1/1", help="the I-th of N parts")
    parser.add_argument("--shapes", default=SHAPES, help="the list of problems")
    parser.add_argument("--list", action="store_true", help="print the problems and exit")
    return parser.parse_args(arguments)


def main():
    options = read_options(None)
    texts = read_shapes(options.shapes, options)
    if not texts:
        sys.exit(f"ops_torch: no problem of {options.shapes} matches '{options.only}'")
    if options.list:
        print("\n".join(texts))
        return
    our_rows = {}
    for path in options.ours:
        if not os.path.exists(path):
            sys.exit(f"ops_torch: cannot read {path}")
        our_rows.update(read_rows(path))
    torch_rows, left = measure_all(texts, options)
    rows = merged(texts, torch_rows, our_rows)
    if rows:
        print("\n".join(table_of(rows)))
    if left > 0:
        print(f"ops_torch: {left} problems have no time of PyTorch", file=sys.stderr)
        sys.exit(INCOMPLETE)


if __name__ == "__main__":
    main()
