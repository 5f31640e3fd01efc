"""Packages of golden versions: dynamic kernels that did not win are in them, and named where they are
missing; of a version with results of two architectures a package has those of one."""

import json
import shutil

import program

DB = ("--db", "g.db")
PER = ("--per-problem", "10s")
# The library wins, and compiles nothing.
LIBRARY_WINS = {"ATTUNE_FAKE_SCRIPT": "fake.library time_ns=500\nfake.tiled time_ns=20000"}
# A config wins that is not the default one.
ANOTHER_WINS = {"ATTUNE_FAKE_SCRIPT": "fake.library time_ns=20000\nfake.tiled time_ns=20000\n"
                                      "fake.tiled{tile=16,unroll=2,threads=1} time_ns=500"}


def problem(order):
    return f"gemm@1{{m={order},n={order},k=8}}"


def write_list(attune, orders, name):
    (attune.folder / name).write_text("".join(problem(order) + "\n" for order in orders))
    return name


def golden_of(attune, session, orders, settings):
    """A version of its own with the results of a session of its own."""
    attune.run("session", "new", session, "--device", "fake", *DB, **settings)
    attune.run("import", write_list(attune, orders, "list.txt"), "--tag", session, "--session",
               session, *DB)
    attune.run("tune", "--session", session, *PER, *DB, **settings)
    versions = attune.json("golden", "list", *DB)
    base = ("--base", versions[-1]["name"]) if versions else ()
    attune.run("golden", "create", session, *base, *DB)
    attune.run("golden", "add", session, "--session", session, "--force", *DB, **settings)
    attune.run("golden", "approve", session, *DB)
    return {entry["problem"]: entry["candidate"]
            for entry in attune.json("golden", "show", session, *DB)["entries"]}


def findings(attune, folder, status, **settings):
    told = json.loads(attune.run("package", "lint", folder, "--json", status=status, **settings)[0])
    return [(finding["fault"], finding["subject"]) for finding in told["findings"]]


def kernels_in(attune, folder):
    return sorted((attune.folder / folder / "kernels").glob("*.kernel"))


def without(attune, package, kernel, name):
    """A copy of a package that never had the kernel."""
    copy = attune.folder / name
    shutil.copytree(attune.folder / package, copy)
    (copy / "kernels" / kernel.name).unlink()
    manifest = json.loads((copy / "manifest.json").read_text())
    del manifest["files"][f"kernels/{kernel.name}"]
    (copy / "manifest.json").write_text(json.dumps(manifest))
    return name


def a_dynamic_kernel_that_did_not_win(attune):
    winners = golden_of(attune, "library", (8, 9), LIBRARY_WINS)
    program.check(len(winners) == 2 and all(winner.startswith("fake.library@") for winner in
                                            winners.values()), winners)
    written = attune.json("golden", "export", "library", "--with-kernels", "-o", "with", *DB,
                          **LIBRARY_WINS)
    # One build of fake.tiled serves both, and neither has chosen it.
    kernels = kernels_in(attune, "with")
    program.check(written["kernels"] == len(kernels) == 1, (written, kernels))
    program.check(findings(attune, "with", 0, **LIBRARY_WINS) == [], "It has all it needs.")
    found = findings(attune, without(attune, "with", kernels[0], "robbed"), 3, **LIBRARY_WINS)
    program.check([fault for fault, _ in found] == ["missing_dynamic_kernel"] and
                  found[0][1].startswith("fake.tiled@1{") and
                  any(f" for {text}" in found[0][1] for text in winners), found)
    out, _ = attune.run("package", "lint", "robbed", status=3, **LIBRARY_WINS)
    program.check("missing_dynamic_kernel" in out and "fake.tiled@1" in out, out)
    attune.run("golden", "export", "library", "-o", "choices", *DB, **LIBRARY_WINS)
    program.check(findings(attune, "choices", 3, **LIBRARY_WINS) == found, "As of the other one.")


def a_winner_and_the_default_beside_it(attune):
    winners = golden_of(attune, "another", (24,), ANOTHER_WINS)
    winner = winners[problem(24)]
    program.check("fake.tiled@1" in winner and "tile=16" in winner, winners)
    attune.run("golden", "export", "another", "--with-kernels", "-o", "both", *DB, **ANOTHER_WINS)
    kernels = kernels_in(attune, "both")
    program.check(len(kernels) == 2, kernels)
    # The package does not tell them apart; a missing kernel is reported by its part.
    faults = {}
    for i, kernel in enumerate(kernels):
        found = findings(attune, without(attune, "both", kernel, f"robbed{i}"), 3, **ANOTHER_WINS)
        program.check(len(found) == 1, found)
        faults[found[0][0]] = found[0][1]
    program.check(set(faults) == {"missing_kernel", "missing_dynamic_kernel"}, faults)
    program.check(faults["missing_kernel"] == f"{winner} for {problem(24)}", faults)
    program.check(faults["missing_dynamic_kernel"].startswith("fake.tiled@1{") and
                  winner not in faults["missing_dynamic_kernel"], faults)


def preferred(attune, package, device, order):
    """The choice in a home that has only the package; None if the package decides nothing."""
    home = attune.folder / "home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    told = attune.json("explain", problem(order), "--device", device, HOME=str(home),
                       XDG_DATA_HOME=str(home), XDG_CACHE_HOME=str(home),
                       ATTUNE_PACKAGES=str(attune.folder / package))
    first = told["serving"]["options"][0]
    program.check(told["serving"]["is_tuned"] == (first["provenance"] == "measured"), told)
    return first["candidate"] if told["serving"]["is_tuned"] else None


def two_architectures_in_one_version(attune):
    own = ("--db", "two.db")
    orders = {"fake": (8, 9), "cpu": (8, 10)}
    arches = {}
    for device, its_orders in orders.items():
        attune.run("session", "new", device, "--device", device, *own)
        attune.run("import", write_list(attune, its_orders, f"{device}.txt"), "--tag", device,
                   "--session", device, *own)
        attune.run("tune", "--session", device, *PER, *own)
        arches[device] = attune.json("session", "show", device, *own)["arch"]
    program.check(arches["fake"] == "fake-v1" != arches["cpu"], arches)
    attune.run("golden", "create", "1", *own)
    added = attune.json("golden", "add", "1", "--session", "fake", "--session", "cpu", *own)
    program.check(added["taken"] == {"new": 4} and added["kept"] == 0, added)
    attune.run("golden", "approve", "1", *own)
    entries = attune.json("golden", "show", "1", *own)["entries"]
    of_target = {device: {(entry["problem"], entry["candidate"]) for entry in entries
                          if f":{arch}:" in entry["target"]} for device, arch in arches.items()}
    program.check({device: sorted(text for text, _ in of_target[device]) for device in orders} ==
                  {device: sorted(map(problem, orders[device])) for device in orders}, entries)

    _, err = attune.run("golden", "export", "1", "-o", "none", *own, status=2)
    program.check("Several targets are in this version" in err and
                  all(arch in err for arch in arches.values()) and "--target" in err, err)
    program.check(not (attune.folder / "none").exists(), "A package of two targets.")
    for device, arch in arches.items():
        written = attune.json("golden", "export", "1", "--target", arch, "-o", f"of_{device}", *own)
        program.check(written["problems"] == 2 and f":{arch}:" in written["target"], written)
        attune.run("package", "verify", f"of_{device}")
        manifest = json.loads((attune.folder / f"of_{device}" / "manifest.json").read_text())
        program.check(manifest["target"] == written["target"] and
                      manifest["golden"] == {"version": "1", "approved": True}, manifest)
    # Each decides on its own device, as the version does, and nothing of the other one's.
    for package in orders:
        chosen_by = {text: candidate for text, candidate in of_target[package]}
        for device in orders:
            for order in (8, 9, 10):
                expected = chosen_by.get(problem(order)) if device == package else None
                found = preferred(attune, f"of_{package}", device, order)
                program.check(found == expected, (package, device, order, found, expected))


def test(attune):
    for part in (a_dynamic_kernel_that_did_not_win, a_winner_and_the_default_beside_it,
                 two_architectures_in_one_version):
        part(attune)
        print(f"{part.__name__}: as it should be", flush=True)


program.main(test)
