"""A tuning run on a terminal redraws one line, with bar and time left, and leaves none of it behind;
in a pipe it prints plain lines."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import program

PROBLEMS = 6
TUNE = ("tune", "--tag", "t", "--device", "fake", "--retune", "--per-problem", "300ms")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
FRAME = re.compile(r"\r([^\r\n]*)\x1b\[K")


def on_terminal(attune, columns, **settings):
    """The output of `attune tune` on a terminal of that width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {key: value for key, value in attune.environment.items() if key != "NO_COLOR"}
    environment.update({"TERM": "xterm", "LC_ALL": "C.UTF-8", **settings})
    run = subprocess.Popen([str(attune.binary), *TUNE], cwd=attune.folder, env=environment,
                           stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True)
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # EIO: the last writer has closed the terminal.
            part = b""
        if not part:
            break
        written += part
    os.close(ours)
    program.check(run.wait(timeout=program.TIMEOUT_S) == 0, written)
    # The terminal itself makes a newline a carriage return and a newline.
    return written.decode().replace("\r\n", "\n")


def screen_of(written):
    """The lines that remain visible: what a terminal does with \\r, \\n, erasing and colours."""
    lines = [""]
    column = 0
    for word in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|.", written, re.DOTALL):
        if word == "\r":
            column = 0
        elif word == "\n":
            lines.append("")
            column = 0
        elif word == "\x1b[K":
            lines[-1] = lines[-1][:column]
        elif word[0] == "\x1b":
            program.check(COLOUR.fullmatch(word), f"an unknown escape sequence {word!r}")
        else:
            lines[-1] = lines[-1][:column] + word + lines[-1][column + 1:]
            column += 1
    return lines


def check_progress(written, columns):
    frames = [text for text in FRAME.findall(written) if text]
    program.check(len(frames) >= PROBLEMS, written)
    program.check(all(len(text) < columns for text in frames), (columns, frames))
    # In place: the first new line comes after the last frame.
    program.check("\n" not in written[:written.rindex(frames[-1])], written)
    counts = [re.match(r"\[([#.]{20})\] (\d+)/(\d+)", text) for text in frames]
    program.check(all(counts), frames)
    done = [int(count[2]) for count in counts]
    program.check(done == sorted(done) and done[-1] == PROBLEMS, done)
    program.check({int(count[3]) for count in counts} == {PROBLEMS}, frames)
    program.check(counts[-1][1] == "#" * 20, frames[-1])
    return frames


def check_clean_end(written, columns, columns_shown):
    screen = screen_of(written)
    program.check(not any("[#" in line or "[." in line for line in screen), screen)
    program.check(screen[0].startswith("problem"), screen)
    program.check(screen[-1] == "", screen)
    table = screen[:screen.index("")]
    # Columns left out for lack of room are named last.
    left_out = table.pop() if table[-1].startswith("(Left out") else ""
    program.check(bool(left_out) == (columns_shown < 80), screen)
    # Under each row, and under the heading, stands the whole candidate.
    rows, candidates = table[::2], table[1::2]
    program.check(len(rows) == len(candidates) == PROBLEMS + 1, screen)
    program.check(all(line.startswith("    fake.") and "…" not in line for line in candidates[1:]),
                  screen)
    program.check(all(len(line) <= columns for line in table), (columns, table))


def test_terminal(attune):
    written = on_terminal(attune, 100)
    frames = check_progress(written, 100)
    program.check(all(re.search(r"\d+s, \d+s left$", text) for text in frames[:-1]), frames)
    check_clean_end(written, 100, 100)
    program.check(COLOUR.search(written), written)


def test_narrow_terminal_without_colours(attune):
    written = on_terminal(attune, 60, NO_COLOR="1")
    check_progress(written, 60)
    check_clean_end(written, 120, 60)
    program.check(not COLOUR.search(written), written)


def test_pipe(attune):
    out, err = attune.run(*TUNE)
    program.check("\x1b" not in out + err and "\r" not in out + err, out + err)
    program.check(re.fullmatch(r"(\[\d+/6\] .*\n)+", err), err)
    program.check(err.splitlines()[-1].startswith("[6/6] "), err)


def test(attune):
    attune.run("import", attune.write_problems(PROBLEMS), "--tag", "t")
    test_terminal(attune)
    test_narrow_terminal_without_colours(attune)
    test_pipe(attune)


program.main(test)
