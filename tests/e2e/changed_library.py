"""Another build of a library under the same version is another environment: a session refuses what it
would measure, and names the library. On the first OpenCL device, with a copy of CLBlast."""

import pathlib
import shutil

import program

DB = ("--db", "c.db")
PROBLEM = "gemm@1{m=64,n=64,k=64}"
TUNE = ("--problem", PROBLEM, "--solver", "clblast", "--per-problem", "400ms", *DB)
FIELD = "library.clblast.build_id"
# Compiled fast rather than well: its kernels would take longer than a candidate may.
FAST = {"POCL_EXTRA_BUILD_FLAGS": "-cl-opt-disable"}


def clblast(attune, **settings):
    """The report of it; None if it is not installed."""
    for backend in attune.json("devices", **settings)["backends"]:
        for library in backend["libraries"]:
            if library["name"] == "clblast" and library["available"]:
                return library
    return None


def changed_copy(attune, original):
    """The settings with which a copy is loaded that has a byte more behind everything that counts."""
    folder = attune.folder / "lib"
    folder.mkdir()
    copy = folder / pathlib.Path(original).name
    shutil.copyfile(original, copy)
    with open(copy, "ab") as file:
        file.write(b"x")
    (folder / "libclblast.so.1").symlink_to(copy.name)
    return {"LD_LIBRARY_PATH": str(folder)}


def test(attune):
    program.require_device(attune, "opencl:0")
    usual = clblast(attune)
    if usual is None:
        program.skip("CLBlast is not here")
    other = changed_copy(attune, usual["path"])
    changed = clblast(attune, **other)
    program.check(changed["version"] == usual["version"] and
                  changed["build_id"] != usual["build_id"], (usual, changed))

    attune.run("session", "new", "ocl", "--device", "opencl:0", *DB)
    _, err = attune.run("tune", "--session", "ocl", *TUNE, status=1, **other)
    program.check(f"session 'ocl', which is for another environment: {FIELD} is {usual['build_id']} in "
                  f"the session and {changed['build_id']} here" in err, err)
    program.check("library.clblast is" not in err, err)
    attune.run("session", "new", "changed", "--device", "opencl:0", *DB, **other)
    told = attune.json("session", "diff", "ocl", "changed", *DB)["terms"]
    program.check(told == [f"{FIELD}: {usual['build_id']} | {changed['build_id']}"], told)

    # Measurements with the one library are, with the other, a hint until they are repeated.
    attune.run("tune", "--device", "opencl:0", *TUNE, **FAST)
    _, err = attune.run("best", "--device", "opencl:0", "--problem", PROBLEM, *DB, **other)
    program.check(f"with {FIELD} '{usual['build_id']}'" in err, err)


program.main(test)
