"""`attune capture` of a program on CUDA's driver and NVRTC. With --stand-in FOLDER on libraries that compute on
the host, without it on a GPU, where what was stored is tuned, too."""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
STAND_IN = None
if "--stand-in" in sys.argv:
    at = sys.argv.index("--stand-in")
    STAND_IN = sys.argv[at + 1]
    del sys.argv[at:at + 2]
import program  # noqa: E402  pylint: disable=wrong-import-position

WHOLE = ("--budget", "100s", "--per-problem", "40s")


def launch(attune, *words, status=0, folder="captured", options=()):
    settings = {}
    if STAND_IN:
        settings["LD_LIBRARY_PATH"] = STAND_IN
    summary = attune.folder / "summary.json"
    out, err = attune.run("capture", "-o", folder, "--json", str(summary), *options, "--",
                          str(attune.binary.parent / "attune_test_cuda_launcher"), *words,
                          status=status, **settings)
    return out, err, json.loads(summary.read_text())


def test_source_and_data(attune):
    out, err, summary = launch(attune, "plain", "5", status=5)
    program.check(out == "saxpy 2997.0\n", out)
    program.check([(row["kernel"], row["data_bytes"]) for row in summary["captured"]] == [("saxpy", 8192)],
                  (summary, err))
    folder = attune.folder / "captured/saxpy"
    kernel = json.loads((folder / "saxpy.json").read_text())
    program.check(kernel["language"] == "cuda" and kernel["compile_options"] == ["--std=c++14"], kernel)
    program.check(kernel["parameters"] == [{"name": "STEP", "values": [1]}, {"name": "WG", "values": [100]}],
                  kernel)
    program.check(kernel["launches"][0]["local"] == [100] and kernel["launches"][0]["groups"] == [10], kernel)
    program.check(kernel["launches"][0]["arguments"]
                  == [{"operand": "x"}, {"operand": "y"}, {"float": 2.0}, {"int": "n"}], kernel)
    program.check([o["access"] for o in kernel["operands"]] == ["in", "inout"], kernel)
    program.check("#define SCALE 1.0f" in (folder / "saxpy.cu").read_text(), "the header")


def test_asked_for_its_address(attune):
    _, _, summary = launch(attune, "asked", folder="asked")
    program.check([row["kernel"] for row in summary["captured"]] == ["saxpy"], summary)


def test_template(attune):
    out, err, summary = launch(attune, "template", folder="template")
    program.check(out == "saxpy 2997.0\n", out)
    program.check([row["kernel"] for row in summary["captured"]] == ["blas::saxpy<float, STEP>"], (summary, err))
    kernel = json.loads((attune.folder / "template/saxpy/saxpy.json").read_text())
    program.check(kernel["launches"][0]["function"] == "blas::saxpy<float, STEP>", kernel)
    program.check([o["type"] for o in kernel["operands"]] == ["f32", "f32"], kernel)
    program.check(kernel["launches"][0]["arguments"]
                  == [{"operand": "x"}, {"operand": "y"}, {"float": 2.0}, {"int": "n"}], kernel)


def test_template_by_name(attune):
    """An instance is asked for with its arguments, which have commas, or by the name of the template."""
    for name in ("blas::saxpy<float, STEP>", "blas::saxpy"):
        _, err, summary = launch(attune, "template", folder="named", options=("--kernel", name, "--kernel", "none"))
        program.check([row["kernel"] for row in summary["captured"]] == ["blas::saxpy<float, STEP>"], (summary, err))
        program.check([row["kernel"] for row in summary["not_captured"]] == ["none"], summary)
    _, err, summary = launch(attune, "template", folder="named", options=("--kernel", "blas::saxpy", "--launch", "9"))
    program.check([(row["kernel"], "launched 1" in row["reason"]) for row in summary["not_captured"]]
                  == [("blas::saxpy", True)], (summary, err))


def test_binary(attune):
    _, _, summary = launch(attune, "binary", folder="binary")
    program.check([row["kernel"] for row in summary["captured"]] == ["saxpy"], summary)
    folder = attune.folder / "binary/saxpy"
    kernel = json.loads((folder / "saxpy.json").read_text())
    program.check(kernel["binary"] == "saxpy.bin" and kernel["parameters"] == [], kernel)
    program.check((folder / "saxpy.bin").read_bytes().startswith(b"// from elsewhere\n"), folder)
    if STAND_IN:
        return
    kernel["parameters"] = [{"name": "WG", "values": [100, 50, 250]}]
    kernel["launches"][0]["local"] = ["WG"]
    kernel["launches"][0]["groups"] = ["1000 / WG"]
    (folder / "saxpy.json").write_text(json.dumps(kernel, indent=1))
    attune.run("tune", "--kernel", str(folder / "saxpy.json"), *WHOLE)


def test_captured_stream(attune):
    _, _, summary = launch(attune, "graph", folder="graph")
    program.check(summary["captured"] == [] and "graph" in summary["not_captured"][0]["reason"], summary)


def test_tuned(attune, folder):
    path = attune.folder / folder / "saxpy/saxpy.json"
    kernel = json.loads(path.read_text())
    kernel["parameters"] = [{"name": "STEP", "values": [1, 2]}, {"name": "WG", "values": [100, 50, 250]}]
    kernel["launches"][0]["local"] = ["WG"]
    kernel["launches"][0]["groups"] = ["1000 / WG"]
    path.write_text(json.dumps(kernel, indent=1))
    attune.run("tune", "--kernel", str(path), *WHOLE)
    wrong = set()
    for recorded in attune.json("explain", "--kernel", str(path))["sets"]:
        for trial in recorded["trials"]:
            if "STEP=2" in trial["candidate"]:
                wrong.add(trial.get("failure", {}).get("kind"))
    program.check(wrong == {"wrong_result"}, wrong)
    program.check("STEP=1" in attune.json("best", "--kernel", str(path))[0]["candidate"], "best")


def test(attune):
    if not STAND_IN:
        program.require_device(attune, "cuda:0")
    plain = subprocess.run([attune.binary.parent / "attune_test_cuda_launcher", "plain"], check=False,
                           env={**os.environ, **({"LD_LIBRARY_PATH": STAND_IN} if STAND_IN else {})})
    if plain.returncode == program.SKIPPED:
        program.skip("there is no CUDA here")
    program.check(plain.returncode == 0, plain)
    test_source_and_data(attune)
    test_asked_for_its_address(attune)
    test_template(attune)
    test_template_by_name(attune)
    test_binary(attune)
    if STAND_IN:
        test_captured_stream(attune)
    else:
        test_tuned(attune, "captured")
        test_tuned(attune, "template")


program.main(test)
