"""A user's program as jobs of a session: the example, and one that fails in every way there is."""

import json
import os
import pathlib
import signal
import time

import program

DB = ("--db", "t.db")
PER = ("--per-problem", "10s")
PROBLEM = "transpose@1{columns=192,rows=256}"


def jobs(attune, session, tools):
    return attune.json("jobs", "list", "--session", session, *DB, ATTUNE_TOOLS=tools)


def load_and_tune(attune, session, device, problem, tools, status, per=PER):
    attune.run("session", "new", session, "--device", device, *DB, ATTUNE_TOOLS=tools)
    attune.run("jobs", "load", "--session", session, "--problem", problem, "--steps", "perf:measure", *DB,
               ATTUNE_TOOLS=tools)
    return attune.json("tune", "--session", session, *per, *DB, status=status, ATTUNE_TOOLS=tools)


def the_example_is_tuned_by_jobs(attune):
    tools = str(attune.binary.parent.parent / "examples/own_tool/tool.json")
    devices = {device["spec"]: device for backend in attune.json("devices", ATTUNE_TOOLS=tools)["backends"]
               for device in backend["devices"]}
    program.check(devices["tool:transpose"]["usable"], devices)
    # Problems that a tool computes can be tuned here, and others cannot.
    (attune.folder / "shapes.txt").write_text(f"{PROBLEM}\ntranspose@1{{rows=8}}\n")
    imported = attune.json("import", "shapes.txt", "--tag", "shapes", *DB, ATTUNE_TOOLS=tools)
    program.check(imported["imported"] == 2 and imported["unsupported"] == 1, imported)
    summary = load_and_tune(attune, "example", "tool:transpose", PROBLEM, tools, 0,
                            ("--per-problem", "1s"))
    program.check(summary["done"] == 1 and summary["failed"] == 0, summary)
    (job,) = jobs(attune, "example", tools)
    program.check(job["state"] == "done" and job["set_id"] != "", job)
    # Records are read without the program, too.
    best = attune.run("best", "--session", "example", *DB, ATTUNE_TOOLS=tools)[0]
    program.check("tool.transpose-tiled@1{tile=" in best, best)


def write_tool(attune, name, script, solvers):
    folder = attune.folder / name
    folder.mkdir()
    (folder / "run.sh").write_text(script)
    described = {"attune_tool": 1, "name": name, "version": "1", "operator": "step", "timeout_ms": 2000,
                 "success": {"never_prints": "FAILED"},
                 "solvers": [{"name": solver, "argv": ["/bin/sh", "{folder}/run.sh", solver, "{n}"]}
                             for solver in solvers]}
    (folder / "tool.json").write_text(json.dumps(described))
    return str(folder / "tool.json")


FAULTS = """
echo $$ >> pids
case $1 in
  good) echo OP:x,TIME:2,WS:8 ;;
  exits) echo TIME:1; echo "it's lost" >&2; exit 3 ;;
  dies) echo TIME:1; kill -SEGV $$ ;;
  hangs) /bin/sleep 600 & echo $! >> pids; wait ;;
  detaches) (setsid sh -c 'echo $$ >> pids; exec /bin/sleep 600' &); exec /bin/sleep 600 ;;
  zero) echo TIME:0 ;;
  silent) ;;
  wrong) echo TIME:1; echo FAILED ;;
esac
"""
CLASSES = {"exits": "crashed", "dies": "crashed", "hangs": "timed_out", "detaches": "timed_out",
           "zero": "run_failed", "silent": "run_failed", "wrong": "wrong_result"}


def each_failure_has_its_class_and_nothing_stays_behind(attune):
    tools = write_tool(attune, "faulty", FAULTS, ["good", *CLASSES])
    summary = load_and_tune(attune, "faults", "tool:faulty", "step@1{n=4}", tools, 3)
    program.check(summary["done"] == 1 and summary["failed"] == len(CLASSES), summary)
    for job in jobs(attune, "faults", tools):
        name = job["solver"].rpartition("-")[2]
        expected = "" if name == "good" else CLASSES[name]
        program.check(job["error_class"] == expected, job)
        if name == "exits":
            program.check("exit status 3: it's lost" in job["error"], job)
    # Those that the hung programs have started, too.
    for pid in (attune.folder / "faulty/pids").read_text().split():
        program.check(int(pid) not in program.running(), f"{pid} still runs")


def a_description_that_is_wrong_is_told_where_its_device_is_named(attune):
    path = attune.folder / "twice.json"
    path.write_text('{"attune_tool": 1, "name": "twice", "name": "again"}')
    _, err = attune.run("session", "new", "twice", "--device", "tool:twice", status=1, ATTUNE_TOOLS=str(path))
    program.check("There is no device 'tool:twice'" in err, err)
    program.check("ATTUNE_TOOLS: " in err and "the key 'name' stands twice" in err, err)


def another_program_is_refused_in_the_session(attune):
    tools = str(attune.folder / "faulty/tool.json")
    described = pathlib.Path(tools)
    described.write_text(described.read_text().replace('"version": "1"', '"version": "2"'))
    _, err = attune.run("tune", "--session", "faults", *PER, *DB, status=1, ATTUNE_TOOLS=tools)
    program.check("library.faulty is 1 in the session and 2 here" in err, err)
    described.write_text("{}")
    _, err = attune.run("tune", "--device", "cpu", "--problem", "gemm@1{m=8,n=8,k=8}", *DB, status=1,
                        ATTUNE_TOOLS=tools)
    program.check("describes no tool" in err and "ATTUNE_TOOLS" in err, err)


def what_runs_ends_with_attune(attune):
    detached = "(setsid sh -c 'echo $$ > pid; exec /bin/sleep 600' &); exec /bin/sleep 600"
    tools = write_tool(attune, "slow", detached, ["only"])
    process = attune.start("tune", "--device", "tool:slow", "--problem", "step@1{n=4}", *PER, *DB,
                           ATTUNE_TOOLS=tools)
    pid = attune.folder / "slow/pid"
    while not (pid.exists() and pid.read_text().strip()):
        program.check(process.poll() is None, "attune ended before the program began")
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    end = time.monotonic() + 10
    while int(pid.read_text()) in program.running():
        program.check(time.monotonic() < end, "the program outlived attune")
        time.sleep(0.05)


def test(attune):
    the_example_is_tuned_by_jobs(attune)
    each_failure_has_its_class_and_nothing_stays_behind(attune)
    a_description_that_is_wrong_is_told_where_its_device_is_named(attune)
    another_program_is_refused_in_the_session(attune)
    what_runs_ends_with_attune(attune)


program.main(test)
