"""The time of a network with default and with tuned candidates, as `attune report` tells it, against
sums of weight and time that are taken out of the records here."""

import contextlib
import re
import sqlite3

import program

DB = ("--db", "n.db")
WEIGHTS = {64: 5, 96: 1, 200: 3}  # By the order of the product.
UNTUNED = {128: 7}
NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
# Medians of one round's pairs differ from pairs of medians: 1% of noise for each block.
SPEEDUP_TOLERANCE = 0.04
# "12.3 ms"
TIME_TOLERANCE = 0.006


def problem(order):
    return f"gemm@1{{m={order},n={order},k={order}}}"


def write_network(attune, weights, name):
    lines = [problem(order) + "\n" for order, weight in weights.items() for _ in range(weight)]
    (attune.folder / name).write_text("".join(lines))


def is_near(value, expected, tolerance):
    return abs(value - expected) <= tolerance * expected


def times_in_records(attune):
    """{order: (the default's median, the least median)} of the finals of each problem."""
    with contextlib.closing(sqlite3.connect(attune.folder / "n.db")) as records:
        rows = records.execute(
            "SELECT problem.content, trial.is_default, trial.median_ns FROM trial "
            "JOIN measurement_set ON trial.set_id = measurement_set.id "
            "JOIN problem ON measurement_set.problem_id = problem.id "
            "WHERE trial.role = 'final' AND trial.median_ns IS NOT NULL").fetchall()
    times = {}
    for text, is_default, median_ns in rows:
        order = int(re.search(r"m=(\d+)", text)[1])
        default_ns, least_ns = times.get(order, (None, median_ns))
        program.check(not (is_default and default_ns), f"Two defaults of {text}.")
        times[order] = (median_ns if is_default else default_ns, min(least_ns, median_ns))
    return times


def check_report(attune, weights, options, left_out=0):
    times = times_in_records(attune)
    default_ns = sum(weight * times[order][0] for order, weight in weights.items())
    tuned_ns = sum(weight * times[order][1] for order, weight in weights.items())
    words = ("report", *options, "--device", "fake", "-o", "r.html", *DB)
    told = attune.json(*words)
    program.check(told["problems"] == len(weights) + left_out and told["tuned"] == len(weights), told)
    program.check(is_near(told["default_ns"], default_ns, SPEEDUP_TOLERANCE), (told, default_ns))
    # A winner leads with confidence; another one's median may be lower by chance.
    program.check(is_near(told["tuned_ns"], tuned_ns, SPEEDUP_TOLERANCE), (told, tuned_ns))
    out, err = attune.run(*words)
    found = re.search(r"(\d+) measured problems?, each as often as its list has it: "
                      r"([\d.]+) (\w+) by default, ([\d.]+) (\w+) tuned: ([\d.]+)x\.", err)
    program.check(out == "" and found and int(found[1]) == len(weights), (out, err))
    program.check(is_near(float(found[2]) * NS[found[3]], told["default_ns"], TIME_TOLERANCE) and
                  is_near(float(found[4]) * NS[found[5]], told["tuned_ns"], TIME_TOLERANCE) and
                  is_near(float(found[6]), told["default_ns"] / told["tuned_ns"], TIME_TOLERANCE),
                  (err, told))
    return told


def test(attune):
    write_network(attune, WEIGHTS, "net.txt")
    attune.run("import", "net.txt", "--tag", "t", "--model", "Net:1", "--framework", "Fw:2", *DB)
    attune.run("tune", "--tag", "t", "--device", "fake", "--per-problem", "20s", *DB)
    times = times_in_records(attune)
    # Else no weight could be told from another, and nothing from its default.
    program.check(set(times) == set(WEIGHTS) and
                  any(default_ns > 2 * least_ns for default_ns, least_ns in times.values()), times)

    told = check_report(attune, WEIGHTS, ("--model", "Net:1"))
    program.check(told["default_ns"] > told["tuned_ns"], told)
    check_report(attune, WEIGHTS, ("--tag", "t"))

    # Another network of the same problems has its own weights.
    other = {64: 1, 96: 40}
    write_network(attune, other, "other.txt")
    attune.run("import", "other.txt", "--tag", "u", "--model", "Other", *DB)
    check_report(attune, other, ("--model", "Other"))
    check_report(attune, WEIGHTS, ("--model", "Net:1"))

    # What was not measured counts for nothing, and for no problem that was.
    write_network(attune, UNTUNED, "more.txt")
    attune.run("import", "more.txt", "--tag", "v", "--model", "Net:1", *DB)
    check_report(attune, WEIGHTS, ("--model", "Net:1"), left_out=len(UNTUNED))

    written = attune.json("report", "--tag", "v", "--device", "fake", "-o", "r.html", *DB)
    program.check((written["tuned"], written["default_ns"], written["tuned_ns"]) == (0, 0, 0), written)


program.main(test)
