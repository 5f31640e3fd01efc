#!/usr/bin/env python3
"""Corpora of fuzz targets, kept as archives: replays one, or keeps what a fuzzer has found.

  corpus.py replay ARCHIVE PROGRAM...    runs the program on every input of the archive
  corpus.py keep ARCHIVE PROGRAM FOLDER  adds what a fuzzer found in the folder, as little of it as covers the same
"""
import io
import pathlib
import subprocess
import sys
import tarfile
import tempfile


def extract(archive, folder):
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            if not member.isfile():
                continue
            (folder / pathlib.PurePath(member.name).name).write_bytes(tar.extractfile(member).read())
    return sorted(folder.iterdir())


def replay(archive, *program):
    with tempfile.TemporaryDirectory() as name:
        inputs = extract(archive, pathlib.Path(name))
        run = subprocess.run([*program, *inputs], stderr=subprocess.PIPE, text=True, errors="replace", check=False)
        if run.returncode != 0:
            print(run.stderr[-4000:], end="")
        return run.returncode


def keep(archive, program, found):
    with tempfile.TemporaryDirectory() as known, tempfile.TemporaryDirectory() as merged:
        if pathlib.Path(archive).exists():
            extract(archive, pathlib.Path(known))
        subprocess.run([program, "-merge=1", merged, known, found], check=True)
        inputs = sorted(pathlib.Path(merged).iterdir())
        if not inputs:
            print(f"{program} kept nothing, so {archive} is as it was. Is it a fuzzer?", file=sys.stderr)
            return 1
        new = pathlib.Path(f"{archive}.new")
        with tarfile.open(new, "w:xz") as tar:
            for path in inputs:
                member = tarfile.TarInfo(path.name)
                member.size = path.stat().st_size
                tar.addfile(member, io.BytesIO(path.read_bytes()))
        new.replace(archive)
    return 0


def main(arguments):
    verb = {"replay": replay, "keep": keep}.get(arguments[0] if arguments else "")
    if verb is None or len(arguments) < 3 or (verb is keep and len(arguments) != 4):
        print(__doc__, file=sys.stderr)
        return 2
    return verb(*arguments[1:])


sys.exit(main(sys.argv[1:]))
