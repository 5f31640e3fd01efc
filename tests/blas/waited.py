#!/usr/bin/env python3
"""A program that `attune blas --record` waits for behaves as one that attune became.

  waited.py --attune PROGRAM [--library FILE] [--attune-library FILE] [--caller PROGRAM]
"""

import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import interposers

FILES = None
PATIENCE_S = 60
COUNTED = r"attune blas: \d+ problems recorded under tag t"


def environment():
    return {**interposers.outside_environment(), "ATTUNE_DEVICE": "cpu"}


def state_of(pid):
    """Returns the state letter of a process; empty if there is no such process."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def await_that(condition):
    give_up = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > give_up:
            raise AssertionError("it did not come about")
        os.sched_yield()


class Tests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="attune-waited-")
        self.addCleanup(folder.cleanup)
        self.database = os.path.join(folder.name, "attune.db")

    def words(self, *program):
        return [FILES.attune, "--db", self.database, "blas", "--record", "t", "--", *program]

    def run_waited(self, *program, **options):
        return subprocess.run(self.words(*program), env=environment(), capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False, **options)

    def start(self, *program, **options):
        """Starts a process group. Returns the process and the id that the program prints first."""
        process = subprocess.Popen(self.words(*program), env=environment(), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   process_group=0, **options)
        self.addCleanup(self.close, process)
        return process, int(process.stdout.readline())

    @staticmethod
    def close(process):
        if process.poll() is None:
            process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    def end(self, process):
        output, errors = process.communicate(timeout=PATIENCE_S)
        return process.returncode, output, errors


class Ends(Tests):
    def test_the_exit_status_is_the_programs(self):
        for status in (0, 1, 7, 255):
            process = self.run_waited("sh", "-c", f"exit {status}")
            self.assertEqual(process.returncode, status)
            self.assertRegex(process.stderr, COUNTED)

    def test_a_signal_that_ends_the_program_ends_the_command(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGSEGV, signal.SIGKILL,
                       signal.SIGPIPE, signal.SIGXFSZ):
            process = self.run_waited("sh", "-c", f"kill -{int(number)} $$")
            self.assertEqual(process.returncode, -number)
            self.assertRegex(process.stderr, COUNTED)

    def test_a_program_that_cannot_be_started_is_told_and_not_counted(self):
        for program, status in (("/nowhere/program", 127), ("/etc/passwd", 126)):
            process = self.run_waited(program)
            self.assertEqual(process.returncode, status)
            self.assertIn(f"attune blas: Cannot start '{program}'", process.stderr)
            self.assertNotIn("recorded", process.stderr)

    def test_nothing_is_left_beside_the_database(self):
        self.run_waited("true")
        self.assertEqual(os.listdir(os.path.dirname(self.database)), [])

    def test_a_command_without_record_becomes_the_program(self):
        with subprocess.Popen([FILES.attune, "--db", self.database, "blas", "--", "sh", "-c",
                               "echo $$"], env=environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as process:
            output, _ = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(int(output), process.pid)


class Signals(Tests):
    TRAPS = ("trap 'echo hup' HUP; trap 'echo usr1' USR1; trap 'echo usr2' USR2; "
             "trap 'echo winch' WINCH; trap 'echo int' INT; trap 'echo quit' QUIT; "
             "trap 'echo term; exit 3' TERM; echo $$; while :; do read line < /proc/self/stat; done")

    def test_those_of_the_command_reach_the_program(self):
        process, _ = self.start("sh", "-c", self.TRAPS)
        for name in ("hup", "usr1", "usr2", "winch", "int", "quit", "term"):
            process.send_signal(getattr(signal, f"SIG{name.upper()}"))
            self.assertEqual(process.stdout.readline(), f"{name}\n")
        status, _, errors = self.end(process)
        self.assertEqual(status, 3)
        self.assertRegex(errors, COUNTED)

    def test_a_program_without_handlers_dies_of_them(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1,
                       signal.SIGALRM, signal.SIGRTMIN + 3):
            process, _ = self.start("sh", "-c", "echo $$; exec cat", stdin=subprocess.PIPE)
            process.send_signal(number)
            # It ends although its input is still open.
            self.assertEqual(process.wait(timeout=PATIENCE_S), -number)
            process.communicate()

    def test_a_killed_command_takes_the_program_along(self):
        process, program = self.start("sh", "-c", "echo $$; exec cat", stdin=subprocess.PIPE)
        process.kill()
        process.wait(timeout=PATIENCE_S)
        await_that(lambda: state_of(program) in ("", "Z"))
        process.communicate()

    def test_one_that_was_ignored_stays_ignored(self):
        script = ("import signal, os, sys\n"
                  "for number in (signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):\n"
                  "    signal.signal(number, signal.SIG_IGN)\n"
                  "for number in (signal.SIGPIPE, signal.SIGXFSZ):\n"
                  "    signal.signal(number, signal.SIG_DFL)\n"
                  "os.execvp(sys.argv[1], sys.argv[1:])\n")

        def words(*program):
            return [sys.executable, "-c", script, *self.words(*program)]

        shown = subprocess.run(words("grep", "SigIgn", "/proc/self/status"), env=environment(),
                               capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        ignored = int(shown.stdout.split()[1], 16)
        expected = sum(1 << (number - 1)
                       for number in (signal.SIGINT, signal.SIGHUP, signal.SIGCHLD))
        self.assertEqual(ignored, expected)
        with subprocess.Popen(words("sh", "-c", "echo begun; exec cat"), env=environment(),
                              text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), "begun\n")
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGHUP)
            output, errors = process.communicate("still here\n", timeout=PATIENCE_S)
        self.assertEqual((process.returncode, output), (0, "still here\n"), errors)

    def test_one_that_was_ignored_reaches_a_program_that_handles_it(self):
        # A shell without job control starts commands in the background so, and PostgreSQL handles SIGINT.
        handler = ("import signal, sys\n"
                   "signal.signal(signal.SIGINT, lambda *_: sys.exit(5))\n"
                   "print('begun', flush=True)\n"
                   "while True:\n"  # Python may miss a signal that comes just before it reads.
                   "    pass\n")
        with subprocess.Popen(self.words(sys.executable, "-c", handler), env=environment(), text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) as process:
            self.assertEqual(process.stdout.readline(), "begun\n")
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(PATIENCE_S), 5)

    def test_no_signal_is_blocked_in_the_program(self):
        process = self.run_waited("grep", "-E", "SigBlk|SigPnd|ShdPnd", "/proc/self/status")
        self.assertEqual(set(re.findall(r"[0-9a-f]{16}", process.stdout)), {"0" * 16})

    def test_what_stops_the_program_stops_the_command_and_both_go_on(self):
        process, program = self.start("sh", "-c", "echo $$; exec cat", stdin=subprocess.PIPE)
        for _ in range(3):
            process.send_signal(signal.SIGTSTP)
            await_that(lambda: state_of(program) == "T" and state_of(process.pid) == "T")
            os.killpg(process.pid, signal.SIGCONT)
            await_that(lambda: state_of(program) in "SR" and state_of(process.pid) in "SR")
        output, errors = process.communicate("on\n", timeout=PATIENCE_S)
        self.assertEqual((process.returncode, output), (0, "on\n"), errors)


class Descriptors(Tests):
    def test_they_reach_the_program_and_close_with_it(self):
        reader, writer = os.pipe()
        os.set_inheritable(writer, True)
        process = subprocess.Popen(
            self.words("sh", "-c", f"echo word >&{writer}; exec {writer}>&- >&- <&-; "
                       "while :; do read line < /proc/self/stat; done"),
            env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, pass_fds=(writer,))
        os.close(writer)
        # The pipe closes as soon as the program closes it, although the program continues.
        with os.fdopen(reader) as words:
            self.assertEqual(words.read(), "word\n")
        self.assertEqual(process.stdout.read(), b"")
        self.assertIsNone(process.poll())
        process.terminate()
        process.stdin.close()
        self.assertIn(b"recorded under tag t", process.stderr.read())
        process.wait(timeout=PATIENCE_S)
        process.stdout.close()
        process.stderr.close()

    def test_the_program_has_none_of_the_commands(self):
        process = self.run_waited("ls", "/proc/self/fd")
        self.assertEqual(process.stdout.split(), ["0", "1", "2", "3"])


class Terminal(Tests):
    """In a terminal, as a job of a shell."""

    def setUp(self):
        super().setUp()
        self.shell, self.terminal = pty.fork()
        if self.shell == 0:
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"],
                       {**environment(), "PS1": "ready> ", "TERM": "dumb"})
        self.seen = ""
        self.addCleanup(self.leave)
        self.expect("ready> ")

    def leave(self):
        os.kill(self.shell, signal.SIGKILL)
        os.waitpid(self.shell, 0)
        os.close(self.terminal)

    def say(self, text):
        os.write(self.terminal, text.encode())

    def expect(self, pattern):
        give_up = time.monotonic() + PATIENCE_S
        while not (found := re.search(pattern, self.seen)):
            left_s = max(give_up - time.monotonic(), 0)
            if not select.select([self.terminal], [], [], left_s)[0]:
                raise AssertionError(f"no {pattern!r} in {self.seen!r}")
            self.seen += os.read(self.terminal, 4096).decode(errors="replace")
        self.seen = self.seen[found.end():]

    def command(self, program):
        return " ".join(self.words(program)) + "\n"

    def test_control_c_ends_the_program_once(self):
        self.say(self.command("sh -c \"trap 'echo got-int; exit 9' INT; echo begun; "
                              "while :; do read x < /proc/self/stat; done\""))
        self.expect("\nbegun")
        self.say("\x03")
        self.expect("got-int")
        self.expect("recorded under tag t")
        self.expect("ready> ")
        self.assertNotIn("got-int", self.seen)
        self.say("echo status=$?\n")
        self.expect("status=9")

    def test_control_z_gives_the_prompt_and_fg_goes_on(self):
        self.say(self.command("sh -c 'echo begun; exec cat'"))
        self.expect("\nbegun")
        self.say("first\n")
        self.expect("first\r\nfirst")
        self.say("\x1a")
        self.expect("Stopped")
        self.expect("ready> ")
        self.say("fg\n")
        self.expect("exec cat")
        self.say("second\n")
        self.expect("second\r\nsecond")
        self.say("\x04")
        self.expect("recorded under tag t")
        self.expect("ready> ")

    def test_a_shell_in_the_shell_keeps_its_jobs(self):
        self.say(self.command("bash --norc --noprofile -i"))
        self.expect("ready> ")
        self.say("sh -c 'echo begun; exec sleep 1000'\n")
        self.expect("\nbegun")
        self.say("\x1a")
        self.expect("Stopped")
        self.expect("ready> ")
        self.say("kill -9 %1\nexit\nexit\n")
        self.expect("recorded under tag t")
        self.expect("ready> ")


def main():
    global FILES
    FILES, rest = interposers.parse_files()
    unittest.main(argv=["waited.py", *rest], verbosity=2)


if __name__ == "__main__":
    main()
