"""Verbs of sessions use no more of a database, and of plug-ins, than they need."""

import ctypes
import os
import shutil
import subprocess

import program

DB = ("--db", "s.db")


def a_device_has_one_backend(attune):
    """Measuring in a session loads every plug-in once; the fake one complains each time."""
    attune.run("session", "new", "once", "--device", "fake", *DB)
    attune.run("import", attune.write_problems(1), "--tag", "once", "--session", "once", *DB)
    _, err = attune.run("tune", "--session", "once", "--tag", "once", "--per-problem", "400ms", *DB,
                        ATTUNE_FAKE_SCRIPT="device nonsense=1")
    program.check(err.count("fake plug-in:") == 1, err)


def without_rights_of_root():
    """For a child: files of this user are what their modes say, for the superuser too."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH.
        if libc.prctl(24, capability, 0, 0, 0) != 0:  # PR_CAPBSET_DROP
            raise OSError(ctypes.get_errno(), "Cannot drop the right to write everywhere.")


def who_only_looks_needs_no_right_to_write(attune):
    guarded = attune.folder / "guarded"
    guarded.mkdir()
    shutil.copy(attune.folder / "s.db", guarded / "s.db")
    (guarded / "s.db").chmod(0o444)
    guarded.chmod(0o555)
    drop = without_rights_of_root if os.geteuid() == 0 else None

    def run(*words):
        return subprocess.run(words, cwd=attune.folder, env=attune.environment, preexec_fn=drop,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=program.TIMEOUT_S, check=False)

    try:
        for name in ("s.db", "new"):
            refused = run("sh", "-c", f": >> guarded/{name}")
            program.check(refused.returncode != 0, f"Whoever looks may write '{name}'.")
        for words in (("solvers",), ("status",), ("jobs", "list")):
            shown = run(str(attune.binary), *words, "--session", "once", "--db",
                        "guarded/s.db")
            program.check("Sessions here" not in shown.stderr and shown.returncode in (0, 3),
                          (words, shown))
    finally:
        guarded.chmod(0o755)


def test(attune):
    for part in (a_device_has_one_backend, who_only_looks_needs_no_right_to_write):
        part(attune)
        print(f"{part.__name__}: as it should be", flush=True)


program.main(test)
