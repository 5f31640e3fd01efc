#!/usr/bin/env python3
"""Prints how large the source is, beside the aims of the house.

  tools/source_size.py [--root DIR] [--json]

Counts C, C++, CUDA and OpenCL files that git tracks (all files without git). Lines of tests are counted
apart: everything under tests/, files named *_test.* and sources that only tests link. Core is the engine, the
backends for processors and OpenCL, storage, the run time and the core verbs. The aims are printed, not enforced.
"""

import argparse
import dataclasses
import json
import pathlib
import re
import statistics
import subprocess

SUFFIXES = {".c", ".cc", ".cl", ".cu", ".cuh", ".h", ".hpp"}
TEST = re.compile(r"(^|/)tests/|_test\.\w+$|/(test|sample)_[^/]*$")
CORE = re.compile(r"(attune|runtime|storage|apps|include|backends/(host|onednn|opencl)|kernels)/")
# The aim for modules does not count operators.
NOT_MODULES = {"ops"}
SMALL_HEADER_LINES = 40


@dataclasses.dataclass(frozen=True)
class File:
    path: str
    lines: int

    def is_test(self):
        return TEST.search(self.path) is not None

    def is_header(self):
        return pathlib.PurePath(self.path).suffix in (".h", ".hpp", ".cuh")


def paths_under(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, text=True)
    if listed.returncode == 0:
        return [path for path in listed.stdout.split("\0") if path]
    return [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]


def files_under(root):
    """Returns the source files; a file that git tracks and that is deleted is left out."""
    files = []
    for path in paths_under(root):
        if pathlib.PurePath(path).suffix in SUFFIXES and (root / path).is_file():
            files.append(File(path, len((root / path).read_bytes().splitlines())))
    return files


def measures_of(files):
    """Returns [(measure, value, aim or None)]; an aim is the largest value that meets it."""
    own = [file for file in files if not file.is_test()]
    headers = [file.lines for file in own if file.is_header()] or [0]
    modules = {file.path.split("/")[1] for file in own
               if file.path.startswith("attune/") and file.path.count("/") > 1} - NOT_MODULES
    small = sum(lines < SMALL_HEADER_LINES for lines in headers)
    return [("lines of core", sum(file.lines for file in own if CORE.match(file.path)), 70_000),
            ("lines of all source", sum(file.lines for file in own), 120_000),
            ("lines of tests", sum(file.lines for file in files if file.is_test()), None),
            ("source files", len(own), 1_100),
            ("modules under attune/", len(modules), 20),
            ("lines of the median header", round(statistics.median(headers)), None),
            (f"percent of headers under {SMALL_HEADER_LINES} lines", round(100 * small / len(headers)), 20)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    measures = measures_of(files_under(options.root))
    if options.json:
        print(json.dumps({name: {"value": value, "aim": aim} for name, value, aim in measures}))
        return
    width = max(len(name) for name, _, _ in measures)
    print(f"{'':{width}}  {'now':>8}  {'aim':>8}")
    for name, value, aim in measures:
        print(f"{name:{width}}  {value:>8,}  {'-' if aim is None else format(aim, ','):>8}")


if __name__ == "__main__":
    main()
