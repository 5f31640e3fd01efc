"""MIOpen through `fin` as jobs of a session, with a program that stands in for it, up to the find-db."""

import pathlib

import program

DB = ("--db", "f.db")
PER = ("--per-problem", "2s")
STAND_IN = pathlib.Path(__file__).parent.parent / "fin/stand_in_fin.py"


def test(attune):
    settings = {"ATTUNE_FIN": str(STAND_IN), "ATTUNE_FIN_TARGET": "gfx90a:104", "ATTUNE_FIN_DEADLINE_S": "3",
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


program.main(test)
