#!/usr/bin/env python3
"""Replays a transcript of the command line and compares what is printed.

  run_transcript.py --bin DIR --plugins DIR --data DIR TRANSCRIPT

A transcript is text. A line `$ COMMAND` is run by sh in a fresh folder; the lines below it, up to
the next command or comment and without the blank ones at the end, are what it must print, standard output and error together, in order. In them
`{*}` stands for any text within a line, `{n}` for a number, and a line `...` for any number of
lines. `[N]` as the last line is the exit status, 0 if absent. A line that begins with `# ` is
a comment.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TIMEOUT_S = 100


def read_steps(path):
    """[line number, command, expected lines, exit status] of each command."""
    steps, comment = [], True
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("$ "):
            steps.append([number, line[2:], [], 0])
            comment = False
        elif line.startswith("# "):
            comment = True
        elif comment and line:
            sys.exit(f"{path}:{number}: a line that belongs to no command")
        elif re.fullmatch(r"\[\d+\]", line):
            steps[-1][3] = int(line[1:-1])
        elif not comment:
            steps[-1][2].append(line)
    for step in steps:
        while step[2] and not step[2][-1]:
            step[2].pop()
    return steps


def line_pattern(line):
    parts = re.split(r"(\{\*\}|\{n\})", line)
    wild = {"{*}": ".*", "{n}": r"[-+]?[0-9][0-9.e+-]*"}
    return "".join(wild.get(part, re.escape(part)) for part in parts)


def matches(expected, printed):
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else line_pattern(line) + r"\n"
                      for line in expected)
    return re.fullmatch(pattern, printed) is not None


def environment(arguments, folder):
    settings = {key: value for key, value in os.environ.items()
                if not key.startswith(("ATTUNE_", "XDG_", "OMP_", "OPENBLAS_"))}
    settings.update({
        "PATH": f"{arguments.bin}:{settings.get('PATH', '/usr/bin:/bin')}",
        "HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"),
        "XDG_CACHE_HOME": str(folder / "cache"), "LC_ALL": "C.UTF-8", "TZ": "UTC",
        # Tests that run at the same time do not wait for each other; transcripts list `folder`.
        "ATTUNE_LOCK_FOLDER": str(folder.parent),
        "NO_COLOR": "1", "DATA": str(arguments.data), "ATTUNE_PLUGINS": "fake",
        "ATTUNE_PLUGIN_PATH": str(arguments.plugins)})
    return settings


def run(arguments, folder):
    failures = 0
    for number, command, expected, status in read_steps(arguments.transcript):
        done = subprocess.run(["sh", "-c", command], cwd=folder, timeout=TIMEOUT_S,
                              env=environment(arguments, folder), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        printed = done.stdout.decode(errors="replace")
        if printed and not printed.endswith("\n"):
            printed += "\n"
        if done.returncode == status and matches(expected, printed):
            continue
        failures += 1
        print(f"{arguments.transcript.name}:{number}: $ {command}")
        print(f"--- expected, exit {status}\n" + "\n".join(expected))
        print(f"--- printed, exit {done.returncode}\n{printed}")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    for name in ("--bin", "--plugins", "--data"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("transcript", type=pathlib.Path)
    arguments = parser.parse_args()
    for name in ("bin", "plugins", "data"):
        setattr(arguments, name, getattr(arguments, name).resolve())
    with tempfile.TemporaryDirectory(prefix="attune-cli-") as place:
        folder = pathlib.Path(place) / "work"
        folder.mkdir()
        failures = run(arguments, folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
