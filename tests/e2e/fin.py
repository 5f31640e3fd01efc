"""MIOpen through `fin` as jobs of a session, with a program that stands in for it, up to its databases."""

import bz2
import contextlib
import hashlib
import pathlib
import sqlite3

import program

DB = ("--db", "f.db")
PER = ("--per-problem", "60s")
PROBLEM = "MIOpenDriver conv -n 16 -c 64 -H 28 -W 28 -k 64 -y 1 -x 1 -F 1"
STAND_IN = pathlib.Path(__file__).parent.parent / "fin/stand_in_fin.py"


def kernels_in(path):
    """The kernels of a kernel-db by name, options and code, each of which is what its hash says."""
    kernels = []
    with contextlib.closing(sqlite3.connect(path)) as table:
        for name, options, blob, md5, size in table.execute(
                "select kernel_name, kernel_args, kernel_blob, kernel_hash, uncompressed_size from kern_db order by 1, 2"):
            code = bz2.decompress(blob)
            program.check(len(code) == size and hashlib.md5(code).hexdigest() == md5, (name, size, md5))
            kernels.append((name, options))
    return kernels


def test(attune):
    # The search of one solver hangs; its default is fine.
    settings = {"ATTUNE_FIN": str(STAND_IN), "ATTUNE_FIN_TARGET": "gfx90a:104", "ATTUNE_FIN_DEADLINE_S": "5",
                "STAND_IN_FIN": "ConvOclDirectFwd=hang@miopen_perf_eval"}
    (attune.folder / "shapes.txt").write_text(PROBLEM + "\n")
    attune.run("import", "shapes.txt", "--tag", "shapes", *DB, **settings)
    attune.run("session", "new", "s", "--device", "fin:miopen:0", *DB, **settings)
    attune.run("jobs", "load", "--session", "s", "--tag", "shapes", "--steps", "perf:compile,perf:measure", *DB,
               **settings)
    compiled = attune.json("tune", "--session", "s", "--step", "perf:compile", *DB, **settings)
    program.check(compiled["done"] == 2, compiled)
    measured = attune.json("tune", "--session", "s", *PER, *DB, **settings)
    program.check(measured["done"] == 2 and measured["failed"] == 0, measured)
    attune.run("miopen", "export", "--find-db", "--session", "s", "-o", "gfx90a68.HIP.fdb.txt", *DB, **settings)
    line = (attune.folder / "gfx90a68.HIP.fdb.txt").read_text()
    program.check(line.startswith("64-28-28-1x1-64-28-28-16-0x0-1x1-1x1-0-NCHW-FP32-F="), line)
    program.check("ConvAsm1x1U:0.25,2048,miopenConvolutionFwdAlgoDirect" in line, line)
    program.check("ConvOclDirectFwd:0.5,4096,miopenConvolutionFwdAlgoDirect" in line, line)
    attune.run("miopen", "export", "--perf-db", "--session", "s", "-o", "gfx90a68.db.txt", *DB, **settings)
    line = (attune.folder / "gfx90a68.db.txt").read_text()
    program.check("ConvAsm1x1U:9,8,2,64,1,1,1,4" in line and "ConvOclDirectFwd" not in line, line)
    # Kernels of timed candidates, and nothing else.
    exported = attune.json("miopen", "export", "--kernel-db", "--session", "s", "-o", "gfx90a68.kdb", *DB, **settings)
    program.check(exported["records"] == 2 and exported["left_out"] == [], exported)
    kernels = kernels_in(attune.folder / "gfx90a68.kdb")
    program.check(kernels == [("MIOpenConvDirUni.cl.o", " -DSET=0 -mcpu=gfx90a"),
                              ("conv1x1u.s.o", " -DSET=1 -mcpu=gfx90a")], kernels)
    # The hung search is listed with its class.
    told = attune.json("explain", PROBLEM, "--session", "s", *DB, **settings)
    program.check("timed_out" in str(told) and "miopen.conv-search@1{solver=ConvOclDirectFwd}" in str(told), told)
    # On a machine that has not compiled it there is nothing to be written...
    elsewhere = {"XDG_CACHE_HOME": str(attune.folder / "other"), **settings}
    export = ("miopen", "export", "--kernel-db", "--session", "s", *DB)
    _, err = attune.run(*export, "-o", "none.kdb", status=1, **elsewhere)
    program.check("neither in the kernel cache of this machine nor in the database" in err, err)
    # ...unless a worker that did has shared it.
    attune.run("session", "new", "shared", "--device", "fin:miopen:0", *DB, **settings)
    attune.run("jobs", "load", "--session", "shared", "--tag", "shapes", "--steps", "perf:compile", *DB, **settings)
    attune.run("worker", "--compile", "1", "--until-done", "--kernels", "shared", *DB, **settings)
    shared = attune.json(*export, "-o", "shared.kdb", **elsewhere)
    program.check(shared["left_out"] == [], shared)
    # The kernel that the search found is unknown there, so all kernels of the search are exported.
    kernels = kernels_in(attune.folder / "shared.kdb")
    program.check(kernels == [("MIOpenConvDirUni.cl.o", " -DSET=0 -mcpu=gfx90a"),
                              ("conv1x1u.s.o", " -DSET=0 -mcpu=gfx90a"),
                              ("conv1x1u.s.o", " -DSET=1 -mcpu=gfx90a")], kernels)


program.main(test)
