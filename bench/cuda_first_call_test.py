#!/usr/bin/env python3
"""cuda_first_call.py over a PyTorch that stands in: whatever computes there moves a clock, and what is
compiled moves it so far that there is time for few shapes."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

BENCH = pathlib.Path(__file__).parent / "cuda_first_call.py"
SHAPES = 12

TORCH = '''
import os, time, types
passed = [0.0]
time.perf_counter = time.monotonic = lambda: passed[0]
def take(seconds): passed[0] += seconds
float32 = float16 = bfloat16 = None
__version__ = "stand-in"
def randn(*extents, **how): return extents
cuda = types.SimpleNamespace(synchronize=lambda: None)
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(),
                                 cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()))
def conv2d(image, weights, stride, padding):
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] and not os.listdir(os.environ["TORCHINDUCTOR_CACHE_DIR"])
    take(0.002 if backends.cudnn.benchmark else 0.001)
nn = types.SimpleNamespace(functional=types.SimpleNamespace(conv2d=conv2d))
_dynamo = types.SimpleNamespace(reset=lambda: None)
def compile(function, mode, dynamic):
    take(0.3)
    return function
'''


def main():
    with tempfile.TemporaryDirectory() as folder:
        rows = [{"problem": f"conv@1{{dir=fwd,n=1,c=3,h={20 + i},w=9,k=4,fh=3,fw=3,type=f16}}",
                 "first_us": 100.0 + i, "steady_us": 50.0} for i in range(SHAPES)]
        (pathlib.Path(folder) / "torch.py").write_text(TORCH)
        listed = pathlib.Path(folder) / "rows.json"
        listed.write_text(json.dumps({"rows": rows}))
        environment = {**os.environ, "PYTHONPATH": folder}

        def run(*words):
            return subprocess.run([sys.executable, BENCH, listed, "--mode", "all", *words], check=True,
                                  env=environment, text=True, stdout=subprocess.PIPE, timeout=60).stdout

        attune, *modes = json.loads(run("--within", "1", "--json"))
        text = run("--only", "2")

    assert attune["mode"] == "attune" and attune["first_median_us"] >= 100, attune
    assert [mode["mode"] for mode in modes] == ["default", "benchmark", "inductor"], modes
    began = {mode["mode"]: mode["began"] for mode in modes}
    assert began["default"] == SHAPES and 1 <= began["inductor"] < SHAPES, began
    # All are compared on the shapes that every one of them had.
    assert {summary["pictures"] for summary in (attune, *modes)} == {began["inductor"]}, modes
    assert modes[1]["steady_median_us"] > modes[0]["steady_median_us"] > 500, modes
    assert "Medians of 2 shapes" in text and "inductor" in text and "began" not in text, text


if __name__ == "__main__":
    main()
