"""Lists of profilers: results as they come, kept over `kill -9`, and never two commands on one
device, whoever runs them."""

import json
import re
import signal
import time

import program

GOLDEN = "golden/profile_results_v1.jsonl"


def write_commands(attune, lines, name="commands.txt"):
    (attune.folder / name).write_text("".join(line + "\n" for line in lines))
    return name


def fates(report):
    return [result["fate"] for result in report["results"]]


def every_command_has_its_result(attune):
    commands = write_commands(attune, [
        "# two operations, of which the second is the faster one",
        """sh -c 'echo "OP:a,TIME:0.5,WS:16"; echo "OP:b,TIME:0.25,WS:0"; echo noise >&2'""",
        "",
        "ITS_TIME=3 sh -c 'echo TIME:$ITS_TIME; echo WS:8'",
        "sh -c 'echo \"it'\\''s broken\" >&2; exit 4'",
        "sh -c 'kill -11 $$'",
        "attune-no-such-program",
        "sh -c 'echo TIME:0'",
        "sleep 60"])
    report = attune.json("profile", "--file", commands, "--devices", "0,1", "--attempts", "2",
                         "--deadline", "1s", status=3)
    program.check(fates(report) == ["done", "done", "exit_status", "signalled", "not_started",
                                    "no_result", "timed_out"], report)
    program.check([result["line"] for result in report["results"]] == [2, 4, 5, 6, 7, 8, 9], report)
    first, second, broken, dead = report["results"][:4]
    program.check([(op["name"], op["time_ms"], op["workspace_bytes"]) for op in first["ops"]]
                  == [("a", 0.5, 16), ("b", 0.25, 0)], first)
    program.check(second["ops"][0]["time_ms"] == 3 and second["variables"] == {"ITS_TIME": "3"},
                  second)
    program.check(broken["exit_status"] == 4 and broken["attempts"] == 2
                  and broken["log"] == "it's broken\n", broken)
    program.check(dead["signal"] == 11 and dead["attempts"] == 2, dead)
    program.check(report["done"] == 2 and report["failed"] == 5, report)
    attune.run("profile", "--file", write_commands(attune, ["false"]), "--attempts", "1", status=1)


def what_cannot_be_read_runs_nothing(attune):
    commands = write_commands(attune, [f"touch {attune.folder}/ran", "sh -c 'open", "a | b"])
    _, err = attune.run("profile", "--file", commands, status=2)
    program.check("commands.txt:2: The quote at byte 7" in err, err)
    program.check("commands.txt:3: '|' at byte 3" in err, err)
    program.check(not (attune.folder / "ran").exists(), "A command ran.")
    commands = write_commands(attune, ["true"])
    _, err = attune.run("profile", "--file", commands, "--devices", "0,0", status=2)
    program.check("'0' twice" in err, err)
    _, err = attune.run("profile", "--file", commands, "--deadline", "0", status=2)
    program.check("--deadline: 0 would kill" in err, err)
    _, err = attune.run("profile", "--file", commands, "--devices", "0,1", status=2, CUDA_VISIBLE_DEVICES="2,2")
    program.check("'0' and '1' are one" in err, err)
    for device in ("-1", "a b", "00"):
        _, err = attune.run("profile", "--file", commands, "--devices", device, status=2)
        program.check(f"'{device}' is no device: name an ordinal from 0" in err, err)
    for devices in ("0,,1", "0,", ","):
        _, err = attune.run("profile", "--file", commands, "--devices", devices, status=2)
        program.check("'' is no device" in err, err)
    _, err = attune.run("profile", "--file", commands, "-o", "/dev/full", status=2)
    program.check("'/dev/full' is no file that keeps what is written to it" in err, err)
    _, err = attune.run("profile", "--file", commands, "--devices", "1", status=1,
                        CUDA_VISIBLE_DEVICES="3")
    program.check("CUDA_VISIBLE_DEVICES is '3'" in err, err)
    foreign = attune.folder / "foreign"
    for content in ("no journal\n", "no line", '{"other": 1}', '{"attune_profile": 2}\n',
                    '{"attune_profile": 1}\n{"fate": "done"}\n'):
        foreign.write_text(content)
        _, err = attune.run("profile", "--file", commands, "-o", "foreign", status=1)
        program.check("foreign" in err and foreign.read_text() == content, err)


def what_was_done_survives_a_kill(attune):
    marks = attune.folder / "marks"
    marks.mkdir()
    count = 12
    commands = write_commands(attune, [
        f"sh -c 'echo >> {marks}/{i}; sleep 0.1; echo OP:{i},TIME:{i + 1},WS:0'"
        for i in range(count)])
    arguments = ("profile", "--file", commands, "--devices", "0,1", "-o", "journal.jsonl")
    journal = attune.folder / "journal.jsonl"
    run = attune.start(*arguments)
    deadline = time.monotonic() + program.TIMEOUT_S
    while not journal.exists() or len(journal.read_text().splitlines()) < 4:
        program.check(run.poll() is None and time.monotonic() < deadline, "It kept nothing.")
        time.sleep(0.01)
    children = program.descendants(run.pid)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    while any(program.running().get(child, (0, None))[1] == began
              for child, began in children.items()):
        program.check(time.monotonic() < deadline, "What it had started goes on.")
        time.sleep(0.01)
    kept = [json.loads(line)["command"][2] for line in journal.read_text().splitlines()[1:]]
    # As if it had been killed over a line.
    with open(journal, "a", encoding="utf-8") as file:
        file.write('{"line":9,"comm')

    report = attune.json(*arguments)
    program.check(report["done"] == count and report["resumed"] == len(kept), report)
    program.check([result["ops"][0]["time_ms"] for result in report["results"]]
                  == list(range(1, count + 1)), report)
    for result in report["results"]:
        mark = (marks / result["ops"][0]["name"]).read_text().count("\n")
        program.check(mark == 1 or result["command"][2] not in kept, "It was done again.")
    before = journal.read_text()
    report = attune.json(*arguments)
    program.check(report["resumed"] == count and journal.read_text() == before, report)


def one_device_has_one_command(attune):
    """Also where two processes have the same devices, of which each command takes a folder."""
    commands = write_commands(attune, [
        f"sh -c 'd={attune.folder}/held-$CUDA_VISIBLE_DEVICES; mkdir $d && sleep 0.02 && rmdir $d "
        "&& echo TIME:1'"] * 20)
    arguments = ("profile", "--file", commands, "--devices", "0,1", "--attempts", "1", "--json")
    runs = [attune.start(*arguments) for _ in range(2)]
    for run in runs:
        out, err = run.communicate(timeout=program.TIMEOUT_S)
        program.check(run.returncode == 0, out + err)
        program.check({result["device"] for result in json.loads(out)["results"]} <= {"0", "1"}, out)


def an_interrupt_ends_it_in_order(attune):
    commands = write_commands(attune, ["sh -c 'echo TIME:1'", "sleep 60", "sleep 61"])
    run = attune.start("profile", "--file", commands, "-o", "stopped.jsonl", "--json")
    deadline = time.monotonic() + program.TIMEOUT_S
    while "sleep" not in str(commandlines(run.pid)):
        program.check(run.poll() is None and time.monotonic() < deadline, "It does not get there.")
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=program.TIMEOUT_S)
    program.check(run.returncode == 3, out + err)
    program.check(fates(json.loads(out)) == ["done", "stopped", "stopped"], out)
    program.check(len((attune.folder / "stopped.jsonl").read_text().splitlines()) == 2, out)


def commandlines(pid):
    found = []
    for child in program.descendants(pid):
        try:
            with open(f"/proc/{child}/cmdline", "rb") as file:
                found.append(file.read())
        except OSError:
            pass
    return found


def the_format_is_what_it_was(attune):
    golden = (attune.data / GOLDEN).read_text()
    lines = [json.loads(line) for line in golden.splitlines()[1:]]
    commands = write_commands(attune, [
        "sh -c 'echo OP:a,TIME:0.5,WS:16; echo OP:b,TIME:0.25,WS:0'",
        "ITS_TIME=3 sh -c 'echo TIME:$ITS_TIME'",
        "sh -c 'echo broken >&2; exit 4'"])
    (attune.folder / "old.jsonl").write_text(golden)
    arguments = ("profile", "--file", commands, "--attempts", "1")
    report = attune.json(*arguments, "-o", "old.jsonl", status=3)
    program.check(report["resumed"] == 2 and report["results"][:2] == lines[:2], report)
    attune.run(*arguments, "-o", "new.jsonl", status=3)
    without_times = [re.sub(r'"wall_ns":\d+', '"wall_ns":0', text)
                     for text in ((attune.folder / "new.jsonl").read_text(), golden)]
    program.check(without_times[0] == without_times[1], without_times)


def test(attune):
    every_command_has_its_result(attune)
    what_cannot_be_read_runs_nothing(attune)
    what_was_done_survives_a_kill(attune)
    one_device_has_one_command(attune)
    an_interrupt_ends_it_in_order(attune)
    the_format_is_what_it_was(attune)


program.main(test)
