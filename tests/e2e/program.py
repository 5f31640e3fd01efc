"""Runs the program in a fresh folder, for the tests beside this file."""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TIMEOUT_S = 120
SKIPPED = 77  # CTest's exit status for a skipped test.


class Program:
    """`attune` with a database of its own."""

    def __init__(self, arguments, folder):
        self.folder = pathlib.Path(folder)
        self.binary = arguments.bin.resolve() / "attune"
        self.data = arguments.data.resolve()
        self.rounds = arguments.rounds
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(("ATTUNE_", "XDG_"))}
        self.environment.update({
            "HOME": str(folder), "XDG_DATA_HOME": str(self.folder / "data"),
            "XDG_CACHE_HOME": str(self.folder / "cache"), "ATTUNE_PLUGINS": "fake",
            # Tests that run at the same time do not wait for each other.
            "ATTUNE_LOCK_FOLDER": str(folder),
            "ATTUNE_PLUGIN_PATH": str(arguments.plugins.resolve()), "TZ": "UTC"})

    def start(self, *words, **settings):
        return subprocess.Popen([str(self.binary), *words], cwd=self.folder,
                                env={**self.environment, **settings}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *words, status=0, **settings):
        """(standard output, standard error); fails unless the exit status is `status`."""
        process = self.start(*words, **settings)
        out, err = process.communicate(timeout=TIMEOUT_S)
        if process.returncode != status:
            raise AssertionError(f"attune {' '.join(map(str, words))}: exit {process.returncode}, "
                                 f"not {status}\n{out}\n{err}")
        return out, err

    def json(self, *words, status=0, **settings):
        return json.loads(self.run(*words, "--json", status=status, **settings)[0])

    def write_problems(self, count, name="list.txt"):
        lines = [f"gemm@1{{m={8 + i},n={8 + i},k=8}}\n" for i in range(count)]
        (self.folder / name).write_text("".join(lines))
        return name


def skip(reason):
    """Ends the whole test, which CTest then shows as skipped."""
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def require_device(attune, spec):
    """Skips the test where the device cannot be used."""
    usable = {device["spec"] for backend in attune.json("devices")["backends"]
              for device in backend["devices"] if device["usable"]}
    if spec not in usable:
        skip(f"there is no usable device {spec} here")


@contextlib.contextmanager
def small_disk(folder, size_kib, refuse=skip):
    """Mounts a disk of that size at a new folder; calls `refuse` with the reason if it cannot."""
    folder.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size_kib}k", "tmpfs", str(folder)],
        stderr=subprocess.DEVNULL, check=False).returncode == 0
    if not mounted:
        refuse("a disk that fills up needs root and the right to mount a tmpfs")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def running():
    """{process: (its parent, when it began)} of all that have not ended. Of `stat` alone: what a
    candidate that hangs has in memory can take as long to read as that hangs."""
    found = {}
    for folder in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if not folder.name.isdigit():
                continue
            state, parent, *rest = (folder / "stat").read_text().rpartition(")")[2].split()
            if state not in "ZX":
                found[int(folder.name)] = (int(parent), rest[17])
    return found


def descendants(ancestor):
    """{process: when it began}."""
    all_of_them = running()
    found = {}
    generation = {ancestor}
    while generation:
        generation = {process for process, (parent, _) in all_of_them.items()
                      if parent in generation}
        found.update({process: all_of_them[process][1] for process in generation})
    return found


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def main(test):
    """Calls test(Program) in a temporary folder, with what CTest passes."""
    parser = argparse.ArgumentParser()
    for name in ("--bin", "--plugins", "--data"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=50)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="attune-e2e-") as folder:
        test(Program(arguments, folder))
    print("passed")
    sys.exit(0)
