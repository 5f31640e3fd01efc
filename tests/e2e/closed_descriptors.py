"""Programs that are started with standard descriptors closed: what they print is lost, is said to be
lost, and lands in nobody's file."""

import os
import pathlib
import socket
import subprocess
import time

import program

STANDARD = (0, 1, 2)
SOCKET_FD = 3  # For the child protocol.


def close(descriptors):
    for fd in descriptors:
        os.close(fd)


def run_without(attune, descriptors, *words):
    done = subprocess.run([str(attune.binary), *words], cwd=attune.folder, env=attune.environment,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          timeout=program.TIMEOUT_S, check=False,
                          preexec_fn=lambda: close(descriptors))
    return done.returncode, done.stderr


def test_lost_output_fails(attune):
    tune = ("tune", "--tag", "t", "--device", "fake", "--per-problem", "100ms")
    # On the processor a library opens a file to write to as it is loaded.
    for words in (("best", "--tag", "t"), ("best", "--tag", "t", "--device", "fake"), tune,
                  ("best", "--tag", "t", "--device", "fake", "--json"),
                  ("export", "--tag", "t", "--device", "fake", "--format", "csv", "-o", "-"), ("--help",)):
        status, err = run_without(attune, (1,), *words)
        program.check(status == 1, (words, status, err))
        program.check("The output could not be written: Bad file descriptor." in err, (words, err))


def test_input_is_not_needed(attune):
    status, err = run_without(attune, (0,), "problems", "--tag", "t")
    program.check(status == 0 and not err, (status, err))


def standard_files(pid):
    return [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in STANDARD]


def await_files(find_pid, expected, message):
    deadline = time.monotonic() + program.TIMEOUT_S
    while time.monotonic() < deadline:
        pid = find_pid()
        if pid is not None:
            files = standard_files(pid)
            program.check(files == expected, (message, files))
            return
        time.sleep(0.05)
    raise AssertionError(f"{message}: it did not start")


def test_evaluator_prints_into_no_file(attune):
    ours, theirs = socket.socketpair()
    os.set_inheritable(theirs.fileno(), True)

    def wire():
        os.dup2(theirs.fileno(), SOCKET_FD)
        close(STANDARD)

    child = subprocess.Popen([str(attune.binary.parent / "attune-evaluator")], close_fds=False,
                             env=attune.environment, preexec_fn=wire)
    try:
        theirs.close()
        program.check(ours.recv(1), "the evaluator said nothing")
        await_files(lambda: child.pid, ["/dev/null"] * 3, "attune-evaluator")
    finally:
        ours.close()
        child.wait(timeout=program.TIMEOUT_S)


def tuner_of(database):
    """The tuner leaves its parent: it is found by what it works on."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            left_parent = f"PPid:\t{os.getpid()}\n" not in (folder / "status").read_text()
        except OSError:
            continue
        if left_parent and words[0].endswith(b"attune-tuner") and database.encode() in words:
            return int(folder.name)
    return None


def test_tuner_prints_into_no_file(attune):
    database = str(attune.folder / "tuner.db")
    tuner = subprocess.Popen(
        [str(attune.binary.parent / "attune-tuner"), "--db", database, "--device", "fake"],
        stdin=subprocess.PIPE, env=attune.environment, preexec_fn=lambda: close((1, 2)))
    pid = None
    try:
        tuner.wait(timeout=program.TIMEOUT_S)
        await_files(lambda: tuner_of(database), [f"pipe:[{os.fstat(tuner.stdin.fileno()).st_ino}]",
                                                 "/dev/null", "/dev/null"], "attune-tuner")
        pid = tuner_of(database)
        tuner.stdin.write(b"no request\n")
        tuner.stdin.flush()
        # An answer that cannot be written ends it, though there may be more to read.
        deadline = time.monotonic() + program.TIMEOUT_S
        while tuner_of(database) == pid:
            program.check(time.monotonic() < deadline, "attune-tuner goes on without a reader")
            time.sleep(0.05)
    finally:
        tuner.stdin.close()


def test(attune):
    attune.run("import", attune.write_problems(1), "--tag", "t")
    attune.run("tune", "--tag", "t", "--device", "fake", "--per-problem", "100ms")
    test_lost_output_fails(attune)
    test_input_is_not_needed(attune)
    test_evaluator_prints_into_no_file(attune)
    test_tuner_prints_into_no_file(attune)


program.main(test)
