"""Batch norms and softmaxes go through every verb, from import to a golden version, on the processor."""

import program

PROBLEMS = [
    "batch_norm@1{n=4,c=8,h=6,w=5,running=1,saved=1}",
    "batch_norm@1{n=4,c=8,h=6,w=5,layout=nhwc,fuse=add_relu,type=bf16}",
    "batch_norm@1{dir=infer,n=4,c=8,h=6,w=5,fuse=relu}",
    "batch_norm@1{dir=bwd,n=4,c=8,h=6,w=5,saved=1}",
    "softmax@2{outer=12,length=40}",
    "softmax@2{outer=12,length=40,dir=bwd,type=bf16}",
]
LINES = PROBLEMS[:3] + ["MIOpenDriver bnorm -n 4 -c 8 -H 6 -W 5 -m 1 -b 1 -s 1"] + PROBLEMS[4:]
PER = ("--per-problem", "300ms")


def test_a_list_is_tuned_and_reported(attune):
    (attune.folder / "list.txt").write_text("".join(f"{line}\n" for line in LINES))
    attune.run("import", "list.txt", "--tag", "all")
    listed = [problem["problem"] for problem in attune.json("problems", "--tag", "all")]
    program.check(sorted(listed) == sorted(PROBLEMS), listed)
    attune.run("tune", "--tag", "all", *PER)
    best = attune.json("best", "--tag", "all")
    for choice in best:
        program.check(choice["provenance"] in ("measured", "default"), choice)
        program.check(choice["median_ns"] > 0 and "@" in choice["candidate"], choice)
        out, _ = attune.run("explain", choice["problem"])
        program.check(out.count("host.") > 1 and "winner" in out, out)
    out, _ = attune.run("best", "--tag", "all")
    program.check("batch_norm" in out and "softmax" in out, out)
    attune.run("report", "--tag", "all", "-o", "report.html")
    program.check("batch_norm" in (attune.folder / "report.html").read_text(), "The report leaves batch norms out.")
    attune.run("run", PROBLEMS[0], "--time", "100ms")


def test_tuned_problems_are_skipped(attune):
    again = attune.json("tune", "--tag", "all", *PER)
    program.check(again["already_tuned"] == len(PROBLEMS), again)


def test_exports_and_packages_serve(attune):
    for form in ("json", "csv"):
        attune.run("export", "--tag", "all", "--format", form, "-o", f"export.{form}")
        attune.run("import", f"export.{form}", "--tag", "again", "--db", f"{form}.db")
        again = [problem["problem"] for problem in attune.json("problems", "--tag", "again", "--db", f"{form}.db")]
        program.check(sorted(again) == sorted(PROBLEMS), (form, again))
    attune.run("package", "create", "--tag", "all", "-o", "package")
    attune.run("import", "list.txt", "--tag", "all", "--db", "empty.db")
    for problem in PROBLEMS:
        packed = attune.json("explain", problem, "--db", "empty.db", ATTUNE_PACKAGES=str(attune.folder / "package"))
        option = packed["serving"]["options"][0]
        program.check(option["provenance"] == "measured", (problem, option))
        bare = attune.json("explain", problem, "--db", "empty.db")
        program.check(bare["serving"]["options"][0]["provenance"] == "default", (problem, bare["serving"]))


def test_sessions_jobs_and_golden_versions(attune):
    own = ("--db", "session.db")
    attune.run("session", "new", "may", "--device", "cpu", *own)
    attune.run("import", "list.txt", "--tag", "all", "--session", "may", *own)
    attune.run("jobs", "load", "--session", "may", "--tag", "all", "--steps", "perf:measure", *own)
    attune.run("worker", "--device", "cpu", "--until-done", *PER, *own)
    left = [job for job in attune.json("jobs", "list", "--session", "may", *own) if job["state"] != "done"]
    program.check(not left, left)
    attune.run("golden", "create", "1", *own)
    added = attune.json("golden", "add", "1", "--session", "may", *own)
    program.check(added["taken"] == {"new": len(PROBLEMS)}, added)
    attune.run("golden", "approve", "1", *own)
    attune.run("golden", "export", "1", "-o", "golden", *own)
    shown = attune.json("package", "show", "golden")
    program.check(shown["golden"]["approved"], shown)


def test_records_of_one_size_are_priors_of_another(attune):
    """Batch norms that differ in sizes are neighbours: a tuned one serves an untuned one."""
    unseen = "batch_norm@1{n=4,c=8,h=7,w=5,running=1,saved=1}"
    option = attune.json("explain", unseen)["serving"]["options"][0]
    program.check(option["provenance"] in ("nearest", "predicted"), option)


def test_models_and_priors_prune_a_tuning(attune):
    """Measurements of some sizes prune candidates of another."""
    sizes = [f"softmax@2{{outer={outer},length={length}}}" for outer in (16, 48, 160) for length in (24, 80, 200)]
    (attune.folder / "sizes.txt").write_text("".join(f"{size}\n" for size in sizes))
    own = ("--db", "models.db")
    attune.run("import", "sizes.txt", "--tag", "all", *own)
    attune.run("tune", "--tag", "all", *PER, *own)
    attune.run("model", "fit", "--operator", "softmax", "-o", "softmax.model", *own)
    shown = attune.json("model", "show", "softmax.model")
    program.check("softmax" in str(shown), shown)
    unseen = "softmax@2{outer=96,length=120}"
    told = "".join(attune.run("tune", "--problem", unseen, "--prune", "--time-model", "softmax.model", *PER, *own))
    program.check("because a model knows better ones" in told, told)
    attune.run("tune", "--problem", unseen, "--prior", "models.db", *PER, "--db", "prior.db")
    program.check(attune.json("best", "--problem", unseen, "--db", "prior.db")[0]["provenance"] == "measured", unseen)


def test(attune):
    test_a_list_is_tuned_and_reported(attune)
    test_tuned_problems_are_skipped(attune)
    test_exports_and_packages_serve(attune)
    test_sessions_jobs_and_golden_versions(attune)
    test_records_of_one_size_are_priors_of_another(attune)
    test_models_and_priors_prune_a_tuning(attune)


program.main(test)
