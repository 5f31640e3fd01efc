"""Golden versions of the program: what they take, refuse and say of what they hold."""

import program

PER = ("--per-problem", "400ms")


def problem(order):
    return f"gemm@1{{m={order},n={order},k=8}}"


def what_was_rolled_back(attune):
    """Nothing is added to what begins from it, and what is said then leads on."""
    own = ("--db", "back.db")
    (attune.folder / "one.txt").write_text(problem(8) + "\n")
    attune.run("import", "one.txt", "--tag", "t", *own)
    attune.run("session", "new", "may", "--device", "fake", *own)
    attune.run("tune", "--session", "may", "--tag", "t", *PER, *own)
    made = attune.json("golden", "create", "1", *own)
    program.check(made["state"] == "draft" and made["base"] == "", made)
    attune.run("golden", "add", "1", "--session", "may", *own)
    draft = attune.json("golden", "export", "1", "-o", "draft", *own)
    program.check(not draft["approved"], draft)
    manifest = attune.json("package", "show", "draft")
    program.check(manifest["golden"] == {"version": "1", "approved": False}, manifest)
    program.check(manifest["caches"] == ["warm"], manifest)
    out, _ = attune.run("package", "show", "draft")
    program.check("Golden   1, a draft\n" in out and "Caches   warm\n" in out, out)
    _, err = attune.run("golden", "create", "2", *own, status=1)
    program.check("'attune golden approve 1' makes it a base" in err, err)
    approved = attune.json("golden", "approve", "1", *own)
    program.check(approved["state"] == "approved" and approved["approved_by"], approved)
    attune.run("golden", "create", "2", "--base", "1", *own)

    back = attune.json("golden", "rollback", "1", "--reason", "a wrong driver", *own)
    program.check(back["state"] == "rolled back" and back["of_no_use_with_it"] == ["2"], back)
    out, _ = attune.run("golden", "rollback", "1", "--reason", "again", *own)
    program.check("begin from it: 2.\n'attune golden create NAME' begins anew" in out, out)
    listed = attune.json("golden", "list", *own)
    program.check([version["rolled_back_base"] for version in listed] == ["", "1"], listed)
    out, _ = attune.run("golden", "list", *own)
    program.check("of no use: '1', which it begins from, was rolled back" in out, out)
    for force in ((), ("--force",)):
        _, err = attune.run("golden", "add", "2", "--session", "may", *force, *own, status=1)
        program.check("'1', which it begins from, was rolled back (a wrong driver)" in err and
                      "'attune golden create NAME' begins anew" in err, err)
    _, err = attune.run("golden", "create", "3", "--base", "2", *own, status=1)
    program.check("begins anew, without a base" in err, err)
    # As every message says.
    attune.run("golden", "create", "3", *own)
    added = attune.json("golden", "add", "3", "--session", "may", *own)
    program.check(added["taken"] == {"new": 1}, added)
    attune.run("golden", "approve", "3", *own)
    closed = attune.json("session", "close", "may", *own)
    program.check(closed["closed_by"] and closed["closed_unix_ns"] > 0, closed)


def what_stands_is_judged_by_its_code(attune):
    """Row 11: a solver that was mended is slower, and what it took before is no longer true."""
    own = ("--db", "mended.db")
    attune.run("session", "new", "mended", "--device", "fake", *own)
    attune.run("import", "list.txt", "--tag", "mended", "--session", "mended", *own)
    tiled = ("jobs", "load", "--session", "mended", "--tag", "mended", "--steps",
             "perf:compile,perf:measure", "--solvers", "fake.tiled")
    attune.run(*tiled, *own)
    attune.run("tune", "--session", "mended", *PER, *own, ATTUNE_FAKE_SCRIPT="fake.tiled time_ns=500")
    attune.run("golden", "create", "old", *own)
    attune.run("golden", "add", "old", "--session", "mended", "--session", "nobody", *own, status=1)
    program.check(attune.json("golden", "show", "old", *own)["entries"] == [],
                  "Something was added beside a session that is not there.")
    attune.run("golden", "add", "old", "--session", "mended", "--force", *own)
    slower = {"ATTUNE_FAKE_SCRIPT": "device tiled_version=2.0\nfake.tiled time_ns=700"}
    attune.run("tune", "--session", "mended", "--stale", *PER, *own, **slower)
    added = attune.json("golden", "add", "old", "--session", "mended", *own, **slower)
    program.check(sum(added["taken"].values()) == 2 and added["kept"] == 0, added)
    attune.run("golden", "approve", "old", *own)
    _, err = attune.run("golden", "add", "old", "--session", "mended", *own, status=1, **slower)
    program.check("is approved and never changes" in err, err)


def environments_do_not_mix(attune):
    """A result of one library version neither beats nor stands beside one of another by itself."""
    own = ("--db", "versions.db")
    newer = {"ATTUNE_FAKE_SCRIPT": "device library_version=9.9\n* time_ns=10"}
    attune.run("import", "list.txt", "--tag", "t", *own)
    attune.run("session", "new", "older", "--device", "fake", *own)
    attune.run("tune", "--session", "older", "--tag", "t", *PER, *own,
               ATTUNE_FAKE_SCRIPT="* time_ns=20000")
    # What was measured is of the session without a tag of its own.
    chosen = attune.json("best", "--session", "older", *own)
    program.check(len(chosen) == 2 and attune.json("session", "show", "older", *own)["problems"] == 2,
                  chosen)
    attune.run("session", "new", "newer", "--device", "fake", *own, **newer)
    attune.run("tune", "--session", "newer", "--tag", "t", *PER, *own, **newer)
    attune.run("golden", "create", "1", *own)
    _, err = attune.run("golden", "add", "1", "--session", "older", "--session", "newer", *own,
                        status=1)
    program.check("library.fakelib is 1.0 in 'older' and 9.9 in 'newer'" in err, err)
    program.check(attune.json("golden", "show", "1", *own)["entries"] == [], "Half was added.")
    added = attune.json("golden", "add", "1", "--session", "older", *own)
    program.check(added["taken"] == {"new": 2}, added)
    _, err = attune.run("golden", "add", "1", "--session", "newer", *own, status=1)
    program.check("library.fakelib is 1.0 in 'older' and 9.9 in 'newer'" in err and
                  "--force" in err, err)
    entries = attune.json("golden", "show", "1", *own)["entries"]
    program.check({entry["session"] for entry in entries} == {"older"}, entries)
    added = attune.json("golden", "add", "1", "--session", "newer", "--force", *own)
    program.check(added["taken"] == {"forced": 2}, added)
    # What stands now is of one environment again.
    again = attune.json("golden", "add", "1", "--session", "newer", *own)
    program.check(again["same"] == 2 and again["taken"] == {}, again)


def test(attune):
    attune.write_problems(2)
    for part in (what_was_rolled_back, what_stands_is_judged_by_its_code, environments_do_not_mix):
        part(attune)
        print(f"{part.__name__}: as it should be", flush=True)


program.main(test)
