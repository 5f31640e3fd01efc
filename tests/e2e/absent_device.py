"""Sessions whose device is elsewhere and for which nothing here compiles: what reads records answers
as it does beside the device, and what cannot be had says so."""

import json

import program

DB = ("--db", "away.db")
SESSION = ("--session", "away")
PER = ("--per-problem", "400ms")
# The first beats the default with certainty.
SCRIPT = {"ATTUNE_FAKE_SCRIPT": "fake.tiled time_ns=500"}
MENDED = {"ATTUNE_FAKE_SCRIPT": "device tiled_version=2.0\nfake.tiled time_ns=500"}


def problem(order):
    return f"gemm@1{{m={order},n={order},k=8}}"


def elsewhere(attune):
    """A machine without the plug-in, and without any that compiles for others."""
    empty = attune.folder / "no_plugins"
    empty.mkdir(exist_ok=True)
    return {"ATTUNE_PLUGINS": "", "ATTUNE_PLUGIN_PATH": str(empty)}


def winners(entries):
    return [(entry["problem"], entry["provenance"], entry["candidate"], entry["median_ns"])
            for entry in entries]


def tuned(attune):
    attune.run("session", "new", "away", "--device", "fake", *DB, **SCRIPT)
    attune.run("import", attune.write_problems(2), "--tag", "t", *SESSION, *DB)
    attune.run("tune", *SESSION, *PER, *DB, **SCRIPT)


def records_need_no_device(attune):
    here, there = SCRIPT, elsewhere(attune)
    before = attune.json("best", *SESSION, *DB, **here)
    program.check(all(entry["provenance"] == "measured" for entry in before), before)
    out, err = attune.run("best", *SESSION, "--json", *DB, **there)
    program.check(winners(json.loads(out)) == winners(before), out)
    program.check("The device of session 'away', fake:" in err and "is not here" in err, err)
    out, err = attune.run("best", *SESSION, "--tag", "t", *DB, **there)
    program.check(out == attune.run("best", *SESSION, "--tag", "t", *DB, **here)[0], out)

    for form in ("json", "csv", "tunableop"):
        attune.run("export", *SESSION, "--format", form, "-o", "here", *DB, **here)
        attune.run("export", *SESSION, "--format", form, "-o", "there", *DB, **there)
        program.check((attune.folder / "here").read_text() == (attune.folder / "there").read_text(),
                      form)

    report = ("report", *SESSION, "-o", "report.html")
    with_device = attune.json(*report, *DB, **here)
    without = attune.json(*report, *DB, **there)
    for count in ("problems", "tuned", "sets", "trials"):
        program.check(with_device[count] == without[count] > 0, (count, with_device, without))

    explain = ("explain", before[0]["problem"], *SESSION)
    with_device = attune.json(*explain, *DB, **here)
    without = attune.json(*explain, *DB, **there)
    program.check(without["choice"] == with_device["choice"], without)
    program.check(without["sets"] == with_device["sets"], without)
    program.check("device of the session is not here" in without["serving_reason"], without)
    out, _ = attune.run(*explain, *DB, **there)
    program.check("Serves   nothing: The device" in out and "Device   not here: " in out, out)


def what_is_not_measured_is_told(attune):
    """With the device the default would be shown; here it is unknown."""
    there = elsewhere(attune)
    (attune.folder / "more.txt").write_text(problem(20) + "\n")
    attune.run("import", "more.txt", "--tag", "more", *SESSION, *DB)
    entries = attune.json("best", *SESSION, *DB, **there)
    program.check([entry["provenance"] for entry in entries] == ["measured"] * 2 + ["untuned"],
                  entries)
    program.check(entries[2]["candidate"] is None and "'attune tune --session'" in
                  entries[2]["reason"], entries[2])
    out, err = attune.run("best", *SESSION, *DB, **there)
    program.check("untuned" in out and "1 of 3 problems are not tuned in the session" in err,
                  (out, err))
    _, err = attune.run("export", *SESSION, "--format", "json", "-o", "partly", *DB, status=3,
                        **there)
    program.check("Left out: gemm@1" in err and "m=20" in err, err)
    told = attune.json("explain", problem(20), *SESSION, *DB, **there)
    program.check(told["choice"] is None and "is not here" in told["reason"], told)
    attune.json("report", *SESSION, "-o", "partly.html", *DB, **there)


def choices_are_packed_and_kernels_are_not(attune):
    there = elsewhere(attune)
    attune.run("golden", "create", "1", *DB)
    attune.run("golden", "add", "1", *SESSION, *DB)
    here = attune.json("golden", "export", "1", "-o", "golden_here", *DB, **SCRIPT)
    written = attune.json("golden", "export", "1", "-o", "golden_there", *DB, **there)
    program.check(written["problems"] == here["problems"] == 2 and written["kernels"] == 0, written)
    attune.run("package", "verify", "golden_there", **there)
    for words in (("golden", "export", "1", "--with-kernels"), ("package", "create", *SESSION)):
        _, err = attune.run(*words, "-o", "refused", *DB, status=1, **there)
        program.check("cannot be packed" in err and "'attune devices'" in err and
                      "without --with-kernels" in err, err)
        program.check(not (attune.folder / "refused").exists(), "Something was written.")


def what_needs_the_device_says_so(attune):
    there = elsewhere(attune)
    _, err = attune.run("tune", *SESSION, *DB, status=1, **there)
    program.check("Session 'away' is measured on fake:" in err and
                  "run this where the device is" in err, err)
    for words in (("applicability",), ("jobs", "load", "--steps", "perf:measure")):
        _, err = attune.run(*words, *SESSION, *DB, status=1, **there)
        program.check("session 'away' is for, cannot be asked" in err and "'attune devices'" in err,
                      err)
    _, err = attune.run("best", *SESSION, "--device", "cpu", *DB, status=1, **there)
    program.check("Nothing of session 'away'" in err, err)


def a_change_of_a_solver_is_known_elsewhere(attune):
    attune.run("applicability", *SESSION, *DB, **MENDED)
    here = attune.json("best", *SESSION, *DB, **MENDED)
    program.check([entry["provenance"] for entry in here] == ["untuned"] * 3, here)
    there = attune.json("best", *SESSION, *DB, **elsewhere(attune))
    program.check([entry["provenance"] for entry in there] == ["untuned"] * 3, there)
    told = attune.json("explain", here[0]["problem"], *SESSION, *DB, **elsewhere(attune))
    program.check(len(told["notes"]) == 1 and "library.tiled" in told["notes"][0], told["notes"])


def test(attune):
    for part in (tuned, records_need_no_device, what_is_not_measured_is_told,
                 choices_are_packed_and_kernels_are_not, what_needs_the_device_says_so,
                 a_change_of_a_solver_is_known_elsewhere):
        part(attune)
        print(f"{part.__name__}: as it should be", flush=True)


program.main(test)
