#!/usr/bin/env python3
"""Counts what a build compiles: translation units, lines after preprocessing, and the most expensive headers.

  tools/build_cost.py BUILD [--headers N]

BUILD is a build folder with compile_commands.json (every preset has it). Each unit is preprocessed with its own
command, without precompiled headers. A header counts with the lines of everything that it includes, summed over
the units.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess

MARKER = re.compile(r'^# \d+ "([^"]+)"((?: \d)*)$')


def preprocessing(command):
    """`command` as a command that writes the preprocessed unit to standard output."""
    words = [word for word in shlex.split(command) if word not in ("-c", "-Winvalid-pch")]
    kept, skip = [], False
    for word, following in zip(words, words[1:] + [""]):
        if skip:
            skip = False
        elif word == "-o" or (word == "-include" and "cmake_pch" in following):
            skip = True
        else:
            kept.append(word)
    return [*kept, "-E"]


def lines_of(unit):
    """Returns (lines, {header: lines that it brings})."""
    run = subprocess.run(preprocessing(unit["command"]), cwd=unit["directory"], capture_output=True,
                         text=True, errors="replace", check=True)
    total, since_marker, stack, brought = 0, 0, [], collections.Counter()
    for line in run.stdout.splitlines():
        marker = MARKER.match(line)
        if not marker:
            since_marker += 1
            continue
        total += since_marker
        for header in set(stack):
            brought[header] += since_marker
        since_marker = 0
        if "1" in marker[2].split():
            stack.append(os.path.normpath(marker[1]))
        elif "2" in marker[2].split() and stack:
            stack.pop()
    return total + since_marker, brought


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--headers", type=int, default=10, help="how many are listed (default: 10)")
    options = parser.parse_args()
    units = json.loads((options.build / "compile_commands.json").read_text())
    units = [unit for unit in units if not unit["file"].endswith((".gch", ".hxx.cxx"))]
    total, brought = 0, collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for lines, headers in pool.map(lines_of, units):
            total += lines
            brought.update({name: count for name, count in headers.items() if name.endswith((".h", ".hpp"))
                            or "." not in os.path.basename(name)})
    print(f"{len(units)} translation units, {total:,} lines after preprocessing")
    for name, count in brought.most_common(options.headers):
        print(f"{count:12,}  {count / total:5.1%}  {name}")


if __name__ == "__main__":
    main()
