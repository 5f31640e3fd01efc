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


def check_several(attune, networks):
    """Every printed time is of one network of a model, and one network can be chosen."""
    for number, (name, weights) in enumerate(networks.items()):
        model, framework = re.fullmatch(r"(\S+) \((\S+)\)", name).groups()
        write_network(attune, weights, "more.txt")
        if number > 0:
            attune.run("import", "more.txt", "--tag", f"v{number}", "--model", model, "--framework",
                       framework, *DB)
    words = ("report", "--device", "fake", "-o", "r.html", *DB, "--model")
    check_report(attune, networks["Net:1 (Other:1)"], ("--model", "Net:1", "--framework", "Other:1"))
    check_report(attune, networks["Net:2 (Fw:2)"], ("--model", "Net:2"))
    check_report(attune, networks["Net:2 (Fw:2)"], ("--model", "Net:2", "--framework", "Fw"))
    alone = {name: attune.json(*words, name.split()[0], "--framework", name.split("(")[1][:-1])
             for name in networks}

    for model, expected in (("Net", set(networks)), ("Net:1", set(networks) - {"Net:2 (Fw:2)"})):
        told = attune.json(*words, model)
        program.check((told["default_ns"], told["tuned_ns"]) == (None, None), told)
        by_name = {"{model}:{model_version} ({framework}:{framework_version})".format(**each): each
                   for each in told["networks"]}
        program.check(set(by_name) == expected, told)
        for name, each in by_name.items():
            program.check([each[key] for key in ("problems", "tuned", "default_ns", "tuned_ns")] ==
                          [alone[name][key] for key in ("problems", "tuned", "default_ns", "tuned_ns")],
                          (each, alone[name]))
        program.check(told["tuned"] == len(WEIGHTS), told)

        lines = attune.run(*words, model)[1]
        page = (attune.folder / "r.html").read_text()
        best = attune.run("best", "--model", model, "--device", "fake", *DB)[0]
        for text in (lines, best):
            found = re.findall(r"^(Net:\d \(\w+:\d\)): (\d+) measured problem.*: ([\d.]+) (\w+) by default, ",
                               text, re.MULTILINE)
            program.check({name for name, *_ in found} == expected and
                          len(re.findall("by default, ", text)) == len(expected), text)
            for name, count, time, unit in found:
                program.check(int(count) == len(networks[name]) and
                              is_near(float(time) * NS[unit], alone[name]["default_ns"], TIME_TOLERANCE),
                              (text, alone[name]))
        for name in expected:
            program.check(f"<h3>{name}</h3>" in page and f"{name} faster as a whole" in page, name)
        program.check(page.count("Time of the whole list") == len(expected), "a plot for each network")

    _, err = attune.run("best", "--model", "Net", "--framework", "None:1", *DB, status=1)
    program.check("There is no network of model 'Net' and framework 'None:1'. Networks here: " in err and
                  all(name in err for name in networks), err)
    attune.run("best", "--tag", "t", "--framework", "Fw:2", *DB, status=2)
    program.check(len(attune.json("problems", "--model", "Net", "--framework", "Other", *DB)) == 1,
                  "the problems of one network")


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

    # Unmeasured problems count for nothing, and do not change measured ones.
    write_network(attune, UNTUNED, "more.txt")
    attune.run("import", "more.txt", "--tag", "v", "--model", "Net:1", "--framework", "Fw:2", *DB)
    check_report(attune, WEIGHTS, ("--model", "Net:1"), left_out=len(UNTUNED))

    check_several(attune, {"Net:1 (Fw:2)": WEIGHTS, "Net:2 (Fw:2)": {64: 2}, "Net:1 (Other:1)": {96: 9}})

    written = attune.json("report", "--tag", "v", "--device", "fake", "-o", "r.html", *DB)
    program.check((written["tuned"], written["default_ns"], written["tuned_ns"]) == (0, 0, 0), written)


program.main(test)
