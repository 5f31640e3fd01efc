"""A kernel that one process has compiled is not compiled again by the next: two runs that share a
cache folder, on the first OpenCL device."""

import os

import program

PROBLEM = "gemm@1{m=32,n=32,k=32}"
TUNE = ("tune", "--problem", PROBLEM, "--device", "opencl:0", "--solver", "gemm-tiled",
        "--search", "random", "--seed", "7", "--per-problem", "2s")


def builds(attune, name):
    """Time spent on building, by candidate, as a database of its own has it."""
    _, err = attune.run(*TUNE, "--db", name)
    program.check("could not be measured" not in err, err)
    evidence = attune.json("explain", PROBLEM, "--device", "opencl:0", "--db", name)
    times = {}
    for trial in evidence["sets"][0]["trials"]:
        if "failure" not in trial and trial["candidate"].startswith("opencl.gemm-tiled"):
            times[trial["candidate"]] = max(trial["build_ns"], times.get(trial["candidate"], 0))
    return times


def test_full_disk(attune):
    """Where nothing can be compiled the program says so, and does not die of it."""
    with program.small_disk(attune.folder / "full", 256) as folder:
        if folder is None:
            print("skipped: a full disk needs root and the right to mount a tmpfs")
            return
        left = os.statvfs(folder)
        (folder / "ballast").write_bytes(bytes(left.f_bavail * left.f_frsize))
        settings = {name: str(folder) for name in ("TMPDIR", "POCL_CACHE_DIR", "XDG_CACHE_HOME")}
        process = attune.start(*TUNE, "--db", "full.db", **settings)
        _, err = process.communicate(timeout=program.TIMEOUT_S)
    program.check(process.returncode in (0, 1), f"exit {process.returncode}\n{err}")
    program.check("The peaks of the device could not be measured" in err, err)
    program.check(all(line.startswith(("attune tune: ", "[", "failed: ", "gemm"))
                      for line in err.splitlines()), err)
    attune.run("explain", PROBLEM, "--device", "opencl:0", "--db", "full.db")


def test_kernel_folder_that_is_not_there(attune):
    nowhere = {"ATTUNE_KERNEL_PATH": "/nowhere/kernels"}
    err = attune.run(*TUNE, "--db", "nowhere.db", status=1, **nowhere)[1]
    program.check("ATTUNE_KERNEL_PATH is '/nowhere/kernels' and cannot be followed" in err, err)
    out = attune.run("devices", **nowhere)[0]
    program.check("ATTUNE_KERNEL_PATH: The folder /nowhere/kernels cannot be read" in out, out)


def test(attune):
    usable = {device["spec"] for backend in attune.json("devices")["backends"]
              for device in backend["devices"] if device["usable"]}
    if "opencl:0" not in usable:
        print("skipped: there is no usable device opencl:0 here")
        return
    first, second = builds(attune, "first.db"), builds(attune, "second.db")
    program.check(any(first.values()), f"The first run compiled nothing: {first}")
    again = {name: build_ns for name, build_ns in second.items() if name in first}
    program.check(again, f"The runs have no candidate in common: {first} {second}")
    program.check(not any(again.values()), f"Compiled again: {again}")
    test_full_disk(attune)
    test_kernel_folder_that_is_not_there(attune)


program.main(test)
