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

    out, _ = attune.run("golden", "rollback", "1", "--reason", "a wrong driver", *own)
    program.check("begin from it: 2.\n'attune golden create NAME' begins anew" in out, out)
    # Neither of them can be used, whatever either was before.
    for version in ("1", "2"):
        _, err = attune.run("golden", "approve", version, *own, status=1)
        program.check(f"'{version}' cannot be approved" in err and "(a wrong driver)" in err, err)
    _, err = attune.run("golden", "rollback", "1", "--reason", "again", *own, status=1)
    program.check("was rolled back already, " in err and "(a wrong driver)" in err, err)
    listed = attune.json("golden", "list", *own)
    program.check(listed[0]["withdrawn_because"] == "a wrong driver", listed)
    program.check([version["rolled_back_base"] for version in listed] == ["", "1"], listed)
    out, _ = attune.run("golden", "list", *own)
    program.check("of no use: '1', which it begins from, was rolled back" in out, out)
    _, err = attune.run("golden", "export", "2", "-o", "of_no_use", *own, status=1)
    program.check("'2' begins from '1', which was rolled back: a wrong driver" in err, err)
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
    attune.run("golden", "create", "4", "--base", "3", *own)
    back = attune.json("golden", "rollback", "3", "--reason", "a test", *own)
    program.check(back["state"] == "rolled back" and back["of_no_use_with_it"] == ["4"], back)
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
    # Measurements belong to the session, without a tag of their own.
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
    # Each result is compared with the one that it would replace.
    _, err = attune.run("golden", "add", "1", "--session", "older", *own, status=1)
    program.check("library.fakelib is 9.9 in 'newer' and 1.0 in 'older'" in err, err)
    # The incumbents are of one environment again.
    again = attune.json("golden", "add", "1", "--session", "newer", *own)
    program.check(again["same"] == 2 and again["taken"] == {}, again)


def a_mixed_version_goes_on(attune):
    """Once forced, later steps within one environment need no force; and what is mixed says so."""
    own = ("--db", "mixed.db")
    newer = {"ATTUNE_FAKE_SCRIPT": "device library_version=9.9\n* time_ns=9000"}
    for tag, order in (("a", 8), ("b", 9), ("c", 10)):
        (attune.folder / "one.txt").write_text(problem(order) + "\n")
        attune.run("import", "one.txt", "--tag", tag, *own)
    attune.run("session", "new", "older", "--device", "fake", *own)
    attune.run("tune", "--session", "older", "--tag", "a", *PER, *own)
    attune.run("session", "new", "newer", "--device", "fake", *own, **newer)
    attune.run("tune", "--session", "newer", "--tag", "b", *PER, *own, **newer)
    attune.run("golden", "create", "1", *own)
    attune.run("golden", "add", "1", "--session", "older", "--session", "older", *own)
    # Beside the other environment, although its problem has no incumbent.
    attune.run("golden", "add", "1", "--session", "newer", *own, status=1)
    attune.run("golden", "add", "1", "--session", "newer", "--force", *own)
    for session in ("older", "newer"):
        again = attune.json("golden", "add", "1", "--session", session, "--session", session, *own)
        program.check(again["same"] == 1 and again["taken"] == {}, again)
    attune.run("session", "new", "slower", "--device", "fake", *own, **newer)
    attune.run("tune", "--session", "slower", "--tag", "b", *PER, *own,
               ATTUNE_FAKE_SCRIPT="device library_version=9.9\n* time_ns=90000")
    kept = attune.json("golden", "add", "1", "--session", "slower", *own)
    program.check(kept["kept"] == 1 and kept["taken"] == {}, kept)
    attune.run("tune", "--session", "older", "--tag", "c", *PER, *own)
    attune.run("golden", "add", "1", "--session", "older", *own, status=1)
    shown, err = attune.run("golden", "show", "1", *own)
    program.check("are of different environments" in err and "library.fakelib" in err, err)
    shown = attune.json("golden", "show", "1", *own)
    program.check(len(shown["mixed"]) == 1 and len(shown["entries"]) == 2, shown)
    written = attune.json("golden", "export", "1", "-o", "both", *own)
    program.check(len(written["mixed"]) == 1 and written["stale"] == 0, written)


def what_cannot_be_added_is_told(attune):
    own = ("--db", "empty.db")
    attune.run("import", "list.txt", "--tag", "t", *own)
    attune.run("session", "new", "may", "--device", "fake", *own)
    attune.run("session", "new", "nothing", "--device", "fake", *own)
    attune.run("golden", "create", "1", *own)
    _, err = attune.run("golden", "export", "1", "-o", "empty", *own, status=1)
    program.check("is empty" in err and "'attune golden add 1 --session NAME'" in err, err)
    _, err = attune.run("golden", "add", "1", "--session", "nothing", *own, status=1)
    program.check("Session 'nothing' has no results yet; 'attune tune --session nothing" in err, err)
    attune.run("session", "new", "over", "--device", "fake", *own)
    attune.run("session", "close", "over", *own)
    _, err = attune.run("golden", "add", "1", "--session", "over", *own, status=1)
    program.check("Session 'over' has no results and is closed" in err and "attune tune" not in err, err)
    for words in (("best",), ("report", "-o", "over.html")):
        _, err = attune.run(*words, "--session", "over", *own, status=1)
        program.check("Session 'over' is closed since" in err and "import" not in err, err)
    attune.run("tune", "--session", "may", "--tag", "t", *PER, *own)
    added = attune.json("golden", "add", "1", "--session", "nothing", "--session", "may", *own,
                        status=3)
    program.check(added["taken"] == {"new": 2} and added["empty_sessions"] == ["nothing"], added)
    _, err = attune.run("golden", "export", "1", "--target", "nope", "-o", "empty", *own, status=2)
    program.check("No target of this version is 'nope'" in err, err)
    # A valid target that is none of theirs is not found, which is no usage error.
    for absent in ("sm_80", "gfx90a:xnack-", "cuda:NVIDIA A100:sm_80:108{}"):
        _, err = attune.run("golden", "export", "1", "--target", absent, "-o", "empty", *own,
                            status=1)
        program.check(f"No target of this version is '{absent}'" in err, err)


def a_rollback_needs_a_reason_that_says_something(attune):
    _, err = attune.run("golden", "rollback", "1", "--reason", " ", "--db", "empty.db", status=2)
    program.check("a reason is needed" in err, err)


def what_is_stale_is_marked(attune):
    """A solver that has changed since leaves nothing unmarked of what it took."""
    own = ("--db", "stale.db")
    attune.run("import", "list.txt", "--tag", "t", *own)
    attune.run("session", "new", "may", "--device", "fake", *own)
    attune.run("jobs", "load", "--session", "may", "--tag", "t", "--steps", "perf:measure",
               "--solvers", "fake.tiled", *own)
    attune.run("tune", "--session", "may", *PER, *own)
    attune.run("golden", "create", "1", *own)
    attune.run("golden", "add", "1", "--session", "may", *own)
    shown = attune.json("golden", "show", "1", *own)
    program.check([entry["stale"] for entry in shown["entries"]] == ["", ""], shown)
    attune.run("applicability", "--session", "may", *own,
               ATTUNE_FAKE_SCRIPT="device tiled_version=2.0")
    added = attune.json("golden", "add", "1", "--session", "may", *own, status=3)
    program.check(added["stale"] == 2, added)
    shown = attune.json("golden", "show", "1", *own)
    program.check(all("fake.tiled" in entry["stale"] for entry in shown["entries"]), shown)
    out, _ = attune.run("golden", "show", "1", *own)
    program.check("remark" in out, out)
    out, err = attune.run("golden", "approve", "1", *own, status=3)
    program.check("is approved" in out and "2 of 2 entries are stale" in err, (out, err))
    written = attune.json("golden", "export", "1", "-o", "stale", *own, status=3)
    program.check(written["stale"] == 2, written)
    # A later session of the same device and environment says the same of a result of this one.
    attune.run("session", "new", "plain", "--device", "fake", *own)
    attune.run("tune", "--session", "plain", "--tag", "t", *PER, *own,
               ATTUNE_FAKE_SCRIPT="fake.tiled time_ns=500")
    attune.run("golden", "create", "2", "--base", "1", *own)
    attune.run("golden", "add", "2", "--session", "plain", "--force", *own)
    program.check({entry["stale"] for entry in attune.json("golden", "show", "2", *own)["entries"]}
                  == {""}, "Measured anew, and still stale.")
    attune.run("session", "new", "later", "--device", "fake", *own)
    attune.run("applicability", "--session", "later", "--tag", "t", *own,
               ATTUNE_FAKE_SCRIPT="device tiled_version=2.0")
    program.check(all(entry["stale"] for entry in
                      attune.json("golden", "show", "2", *own)["entries"]), "No mark.")


def test(attune):
    attune.write_problems(2)
    for part in (what_was_rolled_back, what_stands_is_judged_by_its_code, environments_do_not_mix,
                 a_mixed_version_goes_on, what_cannot_be_added_is_told, what_is_stale_is_marked,
                 a_rollback_needs_a_reason_that_says_something):
        part(attune)
        print(f"{part.__name__}: as it should be", flush=True)


program.main(test)
