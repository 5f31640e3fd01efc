#!/usr/bin/env python3
"""Databases of MIOpen's through `attune`: import, export, questions, lint; whole processes.

  miopen_db.py --attune PROGRAM --data FOLDER [--imported PROGRAM] [--runs N] [--json]

FOLDER has databases under their own names, each plain or with .bz2 behind it. For each file: the
time of an import into a new database, and what its export in the same form differs by. For each
GPU with a find-db: `best` for one problem that it has, from a cold process, the median of N; with
--imported, which names the bench of that name, what a run time answers from its index. And
`lint` of all files together, whose zero times are compared with those in the text.
"""

import argparse
import bz2
import json
import os
import pathlib
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

# Exported files, by the end of their names.
KINDS = {".fdb.txt": "--find-db", ".pdb.txt": "--perf-db", ".db.txt": "--perf-db",
         ".db": "--perf-db", ".kdb": "--kernel-db"}
# Lines of a find-db that come out otherwise than they went in, by the words of `lint`.
CAUSES = ("impossible_time", "duplicate_key", "duplicate_solver", "unsorted_items", "bad_row",
          "bad_kernel", "hash_mismatch")


def kind_of(name):
    """The option for a database of that name that tells of its GPU, else None."""
    endings = [ending for ending in KINDS if name.endswith(ending)]
    return KINDS[max(endings, key=len)] if endings and name.startswith("gfx") else None


def unpack(folder, data):
    """The databases of `data` as plain files in `folder`, sorted by name."""
    for path in sorted(data.iterdir()):
        is_packed = path.suffix == ".bz2"
        name = path.stem if is_packed else path.name
        if kind_of(name) is not None:
            content = path.read_bytes()
            (folder / name).write_bytes(bz2.decompress(content) if is_packed else content)
    return sorted(folder.iterdir())


class Attune:
    def __init__(self, program, folder):
        self.program = program
        self.database = folder / "attune.db"

    def run(self, *arguments):
        """Seconds and JSON of one process."""
        command = [self.program, "--db", str(self.database), *map(str, arguments), "--json"]
        begin = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - begin
        if done.returncode not in (0, 3):
            sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
        return seconds, json.loads(done.stdout)

    def ask_runtime(self, bench, target):
        """Figures of a run time that is asked for `target`."""
        command = [bench, "--db", str(self.database), "--target", target, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout)["summary"]

    def forget(self):
        for path in self.database.parent.glob("attune.db*"):
            path.unlink()


def target_of(path):
    return path.name.split(".")[0]


def rows_of(path):
    """Every (solver, params, key...) of a perf-db, or (name, options, hash) of a kernel db."""
    with sqlite3.connect(path) as database:
        if path.suffix == ".kdb":
            return set(database.execute("SELECT kernel_name, kernel_args, kernel_hash FROM kern_db"))
        names = [row[1] for row in database.execute("PRAGMA table_info(config)")][1:]
        query = f"SELECT solver, params, {', '.join('c.' + name for name in names)} FROM perf_db " \
                "JOIN config c ON perf_db.config = c.id"
        return set(database.execute(query))


def difference(path, exported):
    """How many lines or rows of `path` are not in `exported`, and whether both are the same bytes."""
    if path.read_bytes() == exported.read_bytes():
        return 0, True
    if path.suffix in (".db", ".kdb"):
        return len(rows_of(path) - rows_of(exported)), False
    return len(set(path.read_text().splitlines()) - set(exported.read_text().splitlines())), False


def round_trip(attune, path, folder):
    """One row of the table: the import, and what its export differs by."""
    attune.forget()
    import_s, imported = attune.run("miopen", "import", path)
    exported = folder / "exported" / path.name
    exported.parent.mkdir(exist_ok=True)
    export_s, _ = attune.run("miopen", "export", "--target", target_of(path),
                             kind_of(path.name), "-o", exported)
    changed, identical = difference(path, exported)
    counts = imported["findings"][0]["counts"]
    return {"file": path.name, "records": imported["imported"][0]["records"], "import_s": import_s,
            "export_s": export_s, "identical": identical, "changed": changed,
            "causes": {word: counts[word] for word in CAUSES if word in counts}}


def problem_of(path):
    """A problem that the find-db has, as a MIOpenDriver command line."""
    for line in path.read_text().splitlines():
        found = re.match(r"(\d+)-(\d+)-(\d+)-(\d+)x(\d+)-(\d+)-\d+-\d+-(\d+)-(\d+)x(\d+)-(\d+)x(\d+)-"
                         r"1x1-0-NCHW-FP32-F=", line)
        if found is None:
            continue
        words = zip("-c -H -W -y -x -k -n -p -q -u -v".split(), found.groups())
        return "MIOpenDriver conv " + " ".join(f"{flag} {value}" for flag, value in words) + " -F 1"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attune", required=True)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--imported")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.environ.pop("ATTUNE_DB", None)
    with tempfile.TemporaryDirectory(prefix="attune-miopen-") as name:
        folder = pathlib.Path(name)
        (folder / "files").mkdir()
        files = unpack(folder / "files", options.data)
        attune = Attune(options.attune, folder)
        rows = [round_trip(attune, path, folder) for path in files]

        attune.forget()
        together_s, _ = attune.run("miopen", "import", *files)
        best_ms = []
        for path in files:
            problem = problem_of(path) if path.name.endswith(".fdb.txt") else None
            if problem is None:
                continue
            times = [attune.run("best", "--target", target_of(path), "--problem", problem)
                     for _ in range(options.runs)]
            if times[0][1][0]["provenance"] != "imported":
                sys.exit(f"{path.name}: {problem} is not answered")
            best_ms.append(1e3 * statistics.median(seconds for seconds, _ in times))

        answers = {}
        for path in files:
            if options.imported is not None and path.name.endswith(".fdb.txt"):
                target = target_of(path)
                answers[target] = attune.ask_runtime(options.imported, target)

        lint_s, lint = attune.run("miopen", "lint", *files)
        zeros = sum(len(re.findall(r"[:,]0(?:\.0*)?,\d+,miopen", path.read_text()))
                    for path in files if path.name.endswith(".fdb.txt"))
        found = sum(sum(finding["reason"].endswith("is zero.") for finding in each["findings"])
                    for each in lint)
    summary = {"files": len(files), "import_of_all_s": together_s, "lint_s": lint_s,
               "best_cold_ms": max(best_ms, default=None), "zero_times_in_text": zeros,
               "zero_times_found": found, "answers": answers}
    if options.json:
        print(json.dumps({"summary": summary, "rows": rows}, indent=2))
        return
    for row in rows:
        same = "byte for byte" if row["identical"] else f"{row['changed']} differ {row['causes']}"
        print(f"{row['file']:28} {row['records']:>8} records  import {row['import_s']:6.2f} s  "
              f"export {row['export_s']:6.2f} s  {same}")
    for target, figures in summary.pop("answers").items():
        print(f"{target:28} " + "  ".join(f"{word} {value:.6g}" for word, value in figures.items()
                                          if isinstance(value, (int, float))))
    for word, value in summary.items():
        print(f"{word:20} {value:.2f}" if isinstance(value, float) else f"{word:20} {value}")


if __name__ == "__main__":
    main()
