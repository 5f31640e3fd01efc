#!/usr/bin/env python3
"""ops_torch.py with a fake PyTorch: an operation has a fixed cost, and time passes only when a graph
is replayed."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

BENCH = pathlib.Path(__file__).parent / "ops_torch.py"
SMALL = "batch_norm@1{dir=infer,n=2,c=17,h=33,w=65,type=f16}"
FORWARD = "batch_norm@1{n=32,c=256,h=56,w=56,layout=nhwc,running=1,saved=1,fuse=add_relu}"
BACKWARD = "batch_norm@1{dir=bwd,n=64,c=728,h=19,w=19,saved=1}"
SOFTMAX = "softmax@2{outer=4096,length=4096,type=f16}"
# The times of both passes in the fake, in microseconds. Compiled code takes half.
FORWARD_US = 100
BACKWARD_US = 300

TORCH = '''
import contextlib, types
float32 = float16 = bfloat16 = channels_last = channels_last_3d = "x"
__version__ = "stand-in"
now_us = [0.0]
cost_us = [0.0]
def take(us): cost_us[0] += us * scale[0]
scale = [1.0]
class Tensor:
    requires_grad = False
    def to(self, kind): return self
    def contiguous(self, memory_format): return self
    def requires_grad_(self, wanted=True):
        self.requires_grad = wanted
        return self
    def __add__(self, other): return self
def make(*extents, **how): return Tensor()
randn = ones = zeros = make
def batch_norm(x, mean, variance, gamma, beta, training, momentum, epsilon):
    assert isinstance(mean, Tensor) and isinstance(gamma, Tensor)
    take(100)
    return x
def softmax(x, dim):
    take(100)
    return x
def relu(x): return x
nn = types.SimpleNamespace(functional=types.SimpleNamespace(
    batch_norm=batch_norm, softmax=softmax, log_softmax=softmax, relu=relu))
def grad(y, leaves, upstream, retain_graph):
    assert all(leaf.requires_grad for leaf in leaves) and len(leaves) == 3
    take(300)
    return leaves
autograd = types.SimpleNamespace(grad=grad)
class Graph:
    def replay(self): now_us[0] += self.us
class Event:
    def __init__(self, enable_timing): pass
    def record(self): self.us = now_us[0]
    def synchronize(self): pass
    def elapsed_time(self, end): return (end.us - self.us) / 1e3
class Stream:
    def wait_stream(self, other): pass
@contextlib.contextmanager
def capture(graph, stream):
    cost_us[0] = 0.0
    yield
    graph.us = cost_us[0]
cuda = types.SimpleNamespace(
    is_available=lambda: True, get_device_name=lambda: "none", Stream=Stream, Event=Event,
    current_stream=Stream, stream=lambda s: contextlib.nullcontext(), synchronize=lambda: None,
    CUDAGraph=Graph, graph=capture, empty_cache=lambda: None)
def compile(function, dynamic):
    def compiled(*operands):
        scale[0] = 0.5
        y = function(*operands)
        scale[0] = 1.0
        return y
    return compiled
'''
MODULES = {"__init__.py": TORCH,
           "_dynamo.py": "import types\nreset = lambda: None\n"
                         "config = types.SimpleNamespace(recompile_limit=8)\n",
           "_functorch/__init__.py": "", "_functorch/config.py": "donated_buffer = True\n"}


def ours(problem, time_us):
    return {"problem": problem, "mib": 1.0, "floor_us": 10.0, "time_us": time_us, "candidate": "k"}


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "torch" / "_functorch").mkdir(parents=True)
        for file, text in MODULES.items():
            (folder / "torch" / file).write_text(text)
        shapes = folder / "shapes.txt"
        shapes.write_text("# A comment\n" + "\n".join([SMALL, FORWARD, BACKWARD, SOFTMAX]) + "\n")
        mine = folder / "ours.json"
        mine.write_text(json.dumps({"rows": [ours(SMALL, 50), ours(FORWARD, 25),
                                             ours(BACKWARD, 400), ours(SOFTMAX, 20)]}))

        def run(*words, path=str(folder), check=0):
            done = subprocess.run([sys.executable, BENCH, "--shapes", shapes, *words], text=True,
                                  env={**os.environ, "PYTHONPATH": path}, cwd=folder,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
            assert done.returncode == check, (words, done)
            return done.stdout

        assert run("--list", "--set", "softmax") == SOFTMAX + "\n"
        assert run("--list", "--shard", "2/2").splitlines() == [FORWARD, SOFTMAX]
        run("--list", "--shard", "3/2", check=1)
        run("--only", "nothing has this", check=1)
        first = run("--json", "torch.json", "--ours", mine)
        written = json.loads((folder / "torch.json").read_text())["rows"]
        rows = {row["problem"]: row for row in written}
        # All rows are there, so that PyTorch is not needed.
        again = run("--json", "torch.json", "--ours", mine, path=str(folder / "torch"))
        without = run("--only", "softmax", path="", check=77) if not has_torch() else ""

    assert round(rows[FORWARD]["eager_us"]) == FORWARD_US, rows
    assert round(rows[FORWARD]["compile_us"]) == FORWARD_US / 2, rows
    assert round(rows[BACKWARD]["eager_us"]) == BACKWARD_US, rows
    means = {line[:28].strip(): line[28:].split() for line in again.splitlines()
             if line.startswith(("small", "softmax  ", "training"))}
    assert means["training forward NHWC"][:3] == ["1", "4.00", "2.00"], again
    assert means["softmax"][:3] == ["1", "5.00", "2.50"], again
    assert means["small"][:3] == ["1", "2.00", "1.00"], again
    assert means["training backward f32 NCHW"][:2] == ["1", "0.75"], again
    assert "2 times below 0.98" in again and f"{BACKWARD:<72} 0.750 of eager" in again, again
    assert again == "\n".join(first.splitlines()[4:]) + "\n", (first, again)
    assert without == "", without


def has_torch():
    return subprocess.run([sys.executable, "-c", "import torch"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


if __name__ == "__main__":
    main()
