"""MIOpen through `fin` as jobs of a session, with a program that stands in for it, up to its databases."""

import bz2
import contextlib
import hashlib
import pathlib
import sqlite3

import program

DB = ("--db", "f.db")
PER = ("--per-problem", "5s")
STAND_IN = pathlib.Path(__file__).parent.parent / "fin/stand_in_fin.py"


def test(attune):
    settings = {"ATTUNE_FIN": str(STAND_IN), "ATTUNE_FIN_TARGET": "gfx90a:104", "ATTUNE_FIN_DEADLINE_S": "5",
                "STAND_IN_FIN": "ConvOclDirectFwd=hang"}
    (attune.folder / "shapes.txt").write_text("MIOpenDriver conv -n 16 -c 64 -H 28 -W 28 -k 64 -y 1 -x 1 -F 1\n")
    attune.run("import", "shapes.txt", "--tag", "shapes", *DB, **settings)
    attune.run("session", "new", "s", "--device", "fin:miopen:0", *DB, **settings)
    attune.run("jobs", "load", "--session", "s", "--tag", "shapes", "--steps", "perf:compile,perf:measure", *DB,
               **settings)
    compiled = attune.json("tune", "--session", "s", "--step", "perf:compile", *DB, **settings)
    program.check(compiled["done"] == 1, compiled)
    measured = attune.json("tune", "--session", "s", *PER, *DB, **settings)
    program.check(measured["done"] == 1 and measured["failed"] == 0, measured)
    attune.run("miopen", "export", "--find-db", "--session", "s", "-o", "gfx90a68.HIP.fdb.txt", *DB, **settings)
    line = (attune.folder / "gfx90a68.HIP.fdb.txt").read_text()
    program.check(line.startswith("64-28-28-1x1-64-28-28-16-0x0-1x1-1x1-0-NCHW-FP32-F="), line)
    program.check("ConvAsm1x1U:0.5,4096,miopenConvolutionFwdAlgoDirect" in line, line)
    # One that hangs is nobody's best.
    program.check("ConvOclDirectFwd" not in line, line)
    # What was compiled of those that were timed, and nothing else.
    exported = attune.json("miopen", "export", "--kernel-db", "--session", "s", "-o", "gfx90a68.kdb", *DB, **settings)
    program.check(exported["records"] == 1 and exported["left_out"] == [], exported)
    with contextlib.closing(sqlite3.connect(attune.folder / "gfx90a68.kdb")) as table:
        ((name, options, blob, md5, size),) = table.execute(
            "select kernel_name, kernel_args, kernel_blob, kernel_hash, uncompressed_size from kern_db")
    code = bz2.decompress(blob)
    program.check((name, options) == ("conv1x1u.s.o", " -DSET=0 -mcpu=gfx90a"), (name, options))
    program.check(len(code) == size and hashlib.md5(code).hexdigest() == md5, (size, md5))
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
    program.check(shared["records"] == 1 and shared["left_out"] == [], shared)


program.main(test)
