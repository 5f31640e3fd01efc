"""A kernel that one process has compiled is not compiled again by the next: two runs that share a
cache folder, on the first OpenCL device."""

import program

PROBLEM = "gemm@1{m=32,n=32,k=32}"
TUNE = ("tune", "--problem", PROBLEM, "--device", "opencl:0", "--solver", "gemm-tiled",
        "--search", "random", "--seed", "7", "--per-problem", "2s")
# Compiled fast rather than well: on a busy machine CLBlast's kernels, which PoCL finds compiled in no
# cache here, would take longer than a candidate may.
FAST = {"POCL_EXTRA_BUILD_FLAGS": "-cl-opt-disable"}


def builds(attune, name):
    """Time spent on building, by candidate, as a database of its own has it."""
    _, err = attune.run(*TUNE, "--db", name, **FAST)
    program.check("could not be measured" not in err, err)
    evidence = attune.json("explain", PROBLEM, "--device", "opencl:0", "--db", name)
    times = {}
    for trial in evidence["sets"][0]["trials"]:
        if "failure" not in trial and trial["candidate"].startswith("opencl.gemm-tiled"):
            times[trial["candidate"]] = max(trial["build_ns"], times.get(trial["candidate"], 0))
    return times


def test_kernel_folder_that_is_not_there(attune):
    nowhere = {"ATTUNE_KERNEL_PATH": "/nowhere/kernels"}
    err = attune.run(*TUNE, "--db", "nowhere.db", status=1, **nowhere)[1]
    program.check("ATTUNE_KERNEL_PATH is '/nowhere/kernels' and cannot be followed" in err, err)
    out = attune.run("devices", **nowhere)[0]
    program.check("ATTUNE_KERNEL_PATH: Cannot read the folder /nowhere/kernels" in out, out)


def test(attune):
    program.require_device(attune, "opencl:0")
    first, second = builds(attune, "first.db"), builds(attune, "second.db")
    program.check(any(first.values()), f"The first run compiled nothing: {first}")
    again = {name: build_ns for name, build_ns in second.items() if name in first}
    program.check(again, f"The runs have no candidate in common: {first} {second}")
    program.check(not any(again.values()), f"Compiled again: {again}")
    test_kernel_folder_that_is_not_there(attune)


program.main(test)
