"""`attune capture` of real programs on the first OpenCL device, and `attune tune` of what it stores."""

import gzip
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import program  # noqa: E402  pylint: disable=wrong-import-position

WHOLE = ("--budget", "100s", "--per-problem", "40s")


def capture(attune, *words, status=0, options=(), **settings):
    """(standard output, standard error, the summary)"""
    summary = attune.folder / "summary.json"
    summary.unlink(missing_ok=True)
    out, err = attune.run("capture", *options, "--json", str(summary), "--", *words, status=status,
                          **settings)
    return out, err, json.loads(summary.read_text())


def launch(attune, *words, **settings):
    return capture(attune, str(attune.binary.parent / "attune_test_launcher"), *words, **settings)


def reasons(summary):
    return {row["kernel"]: row["reason"] for row in summary["not_captured"]}


def test_two_kernels(attune):
    """Output and exit status are the program's; both kernels are there, for their user alone."""
    plain = subprocess.run([attune.binary.parent / "attune_test_launcher", "two"], check=True,
                           capture_output=True, text=True, cwd=attune.folder).stdout
    out, err, summary = launch(attune, "two", "7", status=7)
    program.check(out == plain, f"{out!r} is not {plain!r}")
    program.check("attune tune --kernel captured/saxpy/saxpy.json" in err, err)
    rows = {row["kernel"]: row for row in summary["captured"]}
    program.check(sorted(rows) == ["reverse", "saxpy"] and not summary["not_captured"], summary)
    program.check(summary["launches"] == {"saxpy": 3, "reverse": 1}, summary)
    program.check(summary["exit_status"] == 7, summary)
    program.check(rows["saxpy"]["launch"] == 1 and rows["saxpy"]["data_bytes"] == 8000, rows)
    folder = attune.folder / "captured"
    program.check(sorted(path.name for path in folder.iterdir()) == ["reverse", "saxpy"],
                  list(folder.iterdir()))
    for path in (folder / "saxpy").iterdir():
        program.check(stat.S_IMODE(path.stat().st_mode) == 0o600, path)
    kernel = json.loads((folder / "saxpy/saxpy.json").read_text())
    program.check(kernel["parameters"] == [{"name": "STEP", "values": [1]},
                                           {"name": "UNUSED", "values": [0.5]}], kernel)
    program.check(kernel["sizes"] == {"run_time": ["n"], "usual": {"n": 1000}}, kernel)
    program.check(kernel["compile_options"] == ["-cl-mad-enable"], kernel)
    program.check(kernel["launches"][0]["local"] == [50] and kernel["launches"][0]["groups"] == [20],
                  kernel)
    program.check([o["access"] for o in kernel["operands"]] == ["in", "inout"], kernel)
    program.check((folder / "saxpy/saxpy.defines.cl").read_text() == "#define BIAS (1.0f+0)\n",
                  "defines")
    after = gzip.decompress((folder / "saxpy/y.after.gz").read_bytes())
    program.check(len(after) == 4000, len(after))
    # Nothing is overwritten: the author may have widened what was there.
    _, _, again = launch(attune, "two")
    program.check({row["path"] for row in again["captured"]}
                  == {"captured/saxpy-2/saxpy-2.json", "captured/reverse-2/reverse-2.json"}, again)


def test_tuned_as_it_is_and_widened(attune):
    """A wrong variant is caught by what the launch wrote; local memory and scalars are as they were."""
    for name in ("saxpy", "reverse"):
        path = f"captured/{name}/{name}.json"
        out, _ = attune.run("tune", "--kernel", path, *WHOLE)
        program.check("1 tuned" in out, out)
    path = attune.folder / "captured/saxpy/saxpy.json"
    kernel = json.loads(path.read_text())
    kernel["parameters"] = [{"name": "STEP", "values": [1, 2]}, {"name": "WG", "values": [50, 100, 25]},
                            {"name": "UNUSED", "values": [0.5]}]
    kernel["launches"][0]["local"] = ["WG"]
    kernel["launches"][0]["groups"] = ["1000 / WG"]
    path.write_text(json.dumps(kernel, indent=1))
    attune.run("tune", "--kernel", str(path), *WHOLE)
    evidence = attune.json("explain", "--kernel", str(path))
    right, wrong = set(), set()
    for recorded in evidence["sets"]:
        for trial in recorded["trials"]:
            config = dict(word.split("=") for word in
                          trial["candidate"].split("{")[1].rstrip("}").split(","))
            (wrong if config["STEP"] == "2" else right).add(trial.get("failure", {}).get("kind"))
    program.check(wrong == {"wrong_result"} and right == {None}, (right, wrong))
    best = attune.json("best", "--kernel", str(path))[0]["candidate"]
    program.check("STEP=1" in best, best)


def test_summary_on_standard_output(attune):
    """Behind what the program prints."""
    launcher = str(attune.binary.parent / "attune_test_launcher")
    plain = subprocess.run([launcher, "two"], check=True, capture_output=True, text=True,
                           cwd=attune.folder).stdout
    out, _ = attune.run("capture", "-o", "printed", "--json", "-", "--", launcher, "two")
    program.check(out.startswith(plain), out)
    program.check(json.loads(out.removeprefix(plain))["exit_status"] == 0, out)
    program.check(not (attune.folder / "-").exists(), "There is a file '-'.")


def test_damaged_data(attune):
    """Data that are not what was captured are refused by their name."""
    folder = attune.folder / "captured/reverse"
    path = str(folder / "reverse.json")
    data = folder / "values.before.gz"
    whole = data.read_bytes()

    def refused(what):
        err = attune.run("tune", "--kernel", path, "--retune", *WHOLE, status=1)[1]
        program.check("values." in err and what in err, err)

    data.write_bytes(whole[:-9])
    refused("cut off")
    data.write_bytes(gzip.compress(b"\1" + gzip.decompress(whole)[1:]))
    refused("other bytes")
    data.unlink()
    refused("values.before.gz")
    data.write_bytes(whole)
    after = folder / "values.after.gz"
    after.write_bytes(gzip.compress(b"short"))
    refused("holds 5 bytes")


def test_which_launches(attune):
    """By name, by number, by size, and as many as are asked for."""
    _, _, summary = launch(attune, "two", options=("--kernel", "saxpy", "--launch", "2", "-o", "some"))
    program.check([(row["kernel"], row["launch"], row["path"]) for row in summary["captured"]]
                  == [("saxpy", 2, "some/saxpy/saxpy.json")], summary)
    _, err, summary = launch(attune, "two", options=("--launch", "9", "--kernel", "saxpy",
                                                     "--kernel", "none", "-o", "some"))
    program.check(summary["captured"] == [] and
                  reasons(summary) == {"saxpy": "it was launched 3 times",
                                       "none": "no launch of it arrived"}, summary)
    program.check("Not captured: none: no launch of it arrived." in err, err)
    _, _, summary = launch(attune, "two", options=("--max-bytes", "1K", "-o", "some"))
    program.check([row["kernel"] for row in summary["captured"]] == ["reverse"], summary)
    program.check("8000 bytes, and --max-bytes allows 1024" in reasons(summary)["saxpy"], summary)
    # The first launch changes nothing, the second does.
    _, _, summary = launch(attune, "shift", options=("-o", "some"))
    program.check(summary["captured"][0]["launch"] == 2, summary)
    program.check("bit for bit" in " ".join(summary["captured"][0]["notes"]), summary)
    attune.run("tune", "--kernel", "some/shift/shift.json", *WHOLE)


def test_what_cannot_be_stored(attune):
    """Is said with its reason, and the program never notices."""
    for what, kernel, reason in (("overlap", "saxpy", "overlapping parts"),
                                 ("image", "copy_image", "image"),
                                 ("infinite", "infinite", "wrote inf into element 0 of out"),
                                 ("held_back", "saxpy", "an event of its own"),
                                 ("offset", "shift", "begin at an offset"),
                                 ("failing", "shift", "was set in a way that is not seen")):
        _, err, summary = launch(attune, what, "3", status=3, options=("-o", "none"))
        program.check(summary["captured"] == [] and reason in reasons(summary).get(kernel, ""),
                      (what, summary))
        program.check("Not captured: " + kernel in err, err)
    _, err, summary = launch(attune, "none", options=("-o", "none"))
    program.check("No launch of OpenCL or CUDA arrived" in err, err)
    _, _, summary = launch(attune, "parts", options=("-o", "parts"))
    program.check(summary["captured"][0]["data_bytes"] == 2048, summary)
    attune.run("tune", "--kernel", "parts/saxpy/saxpy.json", *WHOLE)


def test_binary(attune):
    """A program that came from a binary has no source: its launches can be tuned, and nothing else."""
    _, _, summary = launch(attune, "binary", options=("-o", "binary"))
    program.check([row["kernel"] for row in summary["captured"]] == ["saxpy"], summary)
    path = attune.folder / "binary/saxpy/saxpy.json"
    kernel = json.loads(path.read_text())
    program.check(kernel["binary"] == "saxpy.bin" and "sources" not in kernel, kernel)
    local, groups = kernel["launches"][0]["local"][0], kernel["launches"][0]["groups"][0]
    kernel["parameters"] = [{"name": "PARTS", "values": [1, 2]}, {"name": "LESS", "values": [0, 1]}]
    kernel["launches"][0]["local"][0] = f"{local} / PARTS"
    kernel["launches"][0]["groups"][0] = f"{groups} * PARTS - LESS"
    path.write_text(json.dumps(kernel, indent=1))
    attune.run("tune", "--kernel", str(path), *WHOLE)
    outcomes = {trial["candidate"].split("{")[1]: trial.get("failure", {}).get("kind")
                for recorded in attune.json("explain", "--kernel", str(path))["sets"]
                for trial in recorded["trials"] if trial["role"] == "qualify"}
    program.check(outcomes == {"LESS=0,PARTS=1}": None, "LESS=0,PARTS=2}": None, "LESS=1,PARTS=1}": "wrong_result",
                               "LESS=1,PARTS=2}": "wrong_result"}, outcomes)


def test_threads(attune):
    _, _, summary = launch(attune, "threads", options=("--count", "2", "-o", "threads"))
    program.check(sorted(row["kernel"] for row in summary["captured"]) == ["reverse", "saxpy"], summary)
    program.check(summary["launches"] == {"saxpy": 40, "reverse": 40}, summary)


def test_crash_and_kill(attune):
    """Files stored before the end are there, and the summary has the true end."""
    _, err, summary = launch(attune, "crash", status=128 + signal.SIGABRT, options=("-o", "crash"))
    program.check([row["kernel"] for row in summary["captured"]] == ["saxpy"], summary)
    program.check("ended by signal 6" in err and summary["signal"] == 6, err)
    process = attune.start("capture", "-o", "killed", "--",
                           str(attune.binary.parent / "attune_test_launcher"), "stay")
    program.check(process.stdout.readline().startswith("saxpy"), "the program said nothing")
    for child in program.descendants(process.pid):
        os.kill(child, signal.SIGKILL)
    _, err = process.communicate(timeout=program.TIMEOUT_S)
    program.check(process.returncode == 128 + signal.SIGKILL, (process.returncode, err))
    program.check((attune.folder / "killed/saxpy/saxpy.json").exists(), err)
    # A request to end goes to the program.
    process = attune.start("capture", "-o", "ended", "--",
                           str(attune.binary.parent / "attune_test_launcher"), "stay")
    program.check(process.stdout.readline().startswith("saxpy"), "the program said nothing")
    process.terminate()
    _, err = process.communicate(timeout=program.TIMEOUT_S)
    program.check(process.returncode == 128 + signal.SIGTERM, (process.returncode, err))
    program.check((attune.folder / "ended/saxpy/saxpy.json").exists(), err)


CTYPES = """
import ctypes, sys
cl = ctypes.CDLL("libOpenCL.so.1")   # Every function is looked up by name.
for name in ("clCreateContext", "clCreateCommandQueue", "clCreateProgramWithSource", "clCreateKernel",
             "clCreateBuffer"):
    getattr(cl, name).restype = ctypes.c_void_p
P = ctypes.c_void_p
platform, device, code = P(), P(), ctypes.c_int()
cl.clGetPlatformIDs(1, ctypes.byref(platform), None)
cl.clGetDeviceIDs(platform, ctypes.c_ulong(0xFFFFFFFF), 1, ctypes.byref(device), None)
context = P(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(code)))
queue = P(cl.clCreateCommandQueue(context, device, ctypes.c_ulong(0), ctypes.byref(code)))
source = ctypes.c_char_p(b"__kernel void twice(__global int* x) { x[get_global_id(0)] *= 2; }")
built = P(cl.clCreateProgramWithSource(context, 1, ctypes.byref(source), None, ctypes.byref(code)))
assert cl.clBuildProgram(built, 1, ctypes.byref(device), b"", None, None) == 0
kernel = P(cl.clCreateKernel(built, b"twice", ctypes.byref(code)))
values = (ctypes.c_int * 64)(*range(64))
memory = P(cl.clCreateBuffer(context, ctypes.c_ulong(33), ctypes.c_size_t(256), values, ctypes.byref(code)))
cl.clSetKernelArg(kernel, 0, ctypes.c_size_t(8), ctypes.byref(memory))
size = ctypes.c_size_t(64)
assert cl.clEnqueueNDRangeKernel(queue, kernel, 1, None, ctypes.byref(size), None, 0, None, None) == 0
cl.clEnqueueReadBuffer(queue, memory, 1, ctypes.c_size_t(0), ctypes.c_size_t(256), values, 0, None, None)
assert list(values) == [2 * i for i in range(64)]
"""


def test_functions_that_are_looked_up(attune):
    _, _, summary = capture(attune, sys.executable, "-c", CTYPES, options=("-o", "ctypes"))
    program.check([row["kernel"] for row in summary["captured"]] == ["twice"], summary)


FORK = """
import os
child = os.fork()
if child == 0:
    sys.exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
"""


def test_fork(attune):
    """A child that launches nothing tells nothing of what its parent launched."""
    _, _, summary = capture(attune, sys.executable, "-c", CTYPES + FORK, options=("-o", "forked"))
    program.check(summary["launches"] == {"twice": 1}, summary)


def test_one_call(attune):
    """The example: a program that stores its own launch."""
    example = attune.binary.parent / "capture_launch"
    if not example.exists():
        print("skipped: capture_launch is not built")
        return
    out = subprocess.run([example, "called"], cwd=attune.folder, env=attune.environment, check=True,
                         capture_output=True, text=True).stdout
    program.check(out == "attune tune --kernel called/scale/scale.json\n", out)
    attune.run("tune", "--kernel", "called/scale/scale.json", *WHOLE)


def test_folders(attune):
    """A folder that cannot be made is told before anything runs; a program that is none as shells do."""
    (attune.folder / "file").write_text("")
    err = attune.run("capture", "-o", "file", "--", "true", status=1)[1]
    program.check("-o" in err and "file" in err, err)
    err = attune.run("capture", "--", "/no/such/program", status=127)[1]
    program.check("Cannot start '/no/such/program'" in err, err)
    attune.run("capture", "--", "/etc/passwd", status=126)
    attune.run("capture", "--launch", "0", "--", "true", status=2)
    for size in ("0", "-1"):
        err = attune.run("capture", "--max-bytes", size, "--", "true", status=2)[1]
        program.check("--max-bytes" in err, err)
    # A summary that cannot be written does not change the status.
    err = attune.run("capture", "--json", "/no/such/folder/x", "--", "true")[1]
    program.check("--json" in err, err)
    left = [path for path in attune.folder.rglob(".*") if path.name.startswith((".launches", ".capturing"))]
    program.check(not left, left)
    with program.small_disk(attune.folder / "disk", 12) as disk:
        out, err, _ = launch(attune, "two", options=("-o", str(disk)))
        program.check("saxpy 755.250" in out, out)
        program.check("Not captured: saxpy: cannot write" in err and "No space left" in err, err)


def test(attune):
    program.require_device(attune, "opencl:0")
    shutil.rmtree(attune.folder / "captured", ignore_errors=True)
    test_two_kernels(attune)
    test_summary_on_standard_output(attune)
    test_tuned_as_it_is_and_widened(attune)
    test_damaged_data(attune)
    test_which_launches(attune)
    test_what_cannot_be_stored(attune)
    test_binary(attune)
    test_threads(attune)
    test_crash_and_kill(attune)
    test_functions_that_are_looked_up(attune)
    test_fork(attune)
    test_one_call(attune)
    test_folders(attune)


program.main(test)
