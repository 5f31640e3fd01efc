"""Where no kernel can be compiled because the disk of its cache is full, the program says so, and
does not die of it."""

import os

import program

PROBLEM = "gemm@1{m=32,n=32,k=32}"
TUNE = ("tune", "--problem", PROBLEM, "--device", "opencl:0", "--solver", "gemm-tiled",
        "--search", "random", "--seed", "7", "--per-problem", "2s")


def test(attune):
    program.require_device(attune, "opencl:0")
    with program.small_disk(attune.folder / "full", 256) as folder:
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


program.main(test)
