"""Two processes that tune one list into one database tune each problem once between them, and both
end with all of it tuned."""

import contextlib
import json
import sqlite3

import program

PROBLEMS = 12
TUNE = ("tune", "--tag", "t", "--device", "fake", "--per-problem", "200ms", "--json")


def test(attune):
    attune.run("import", attune.write_problems(PROBLEMS), "--tag", "t", "--db", "shared.db")
    both = [attune.start(*TUNE, "--db", name) for name in ("shared.db", "sqlite:shared.db")]
    summaries = []
    for process in both:
        out, err = process.communicate(timeout=program.TIMEOUT_S)
        program.check(process.returncode == 0, f"exit {process.returncode}\n{out}\n{err}")
        summaries.append(json.loads(out))
    for summary in summaries:
        program.check(summary["tuned"] + summary["already_tuned"] == PROBLEMS, summary)
        program.check(summary["tuned"] > 0, "One process did all: the test shows nothing.")
    program.check(sum(summary["tuned"] for summary in summaries) == PROBLEMS, summaries)
    with contextlib.closing(sqlite3.connect(attune.folder / "shared.db")) as records:
        sets = records.execute("SELECT COUNT(*), COUNT(DISTINCT problem_id) FROM measurement_set")
        program.check(sets.fetchone() == (PROBLEMS, PROBLEMS), "A problem was tuned twice.")


program.main(test)
