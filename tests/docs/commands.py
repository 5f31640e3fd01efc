"""Finds the commands that the documentation shows: in Markdown pages and in the examples of --help.

A command is
- every line after a prompt ("$ ") of a code block; the other lines of that block are output;
- every line of a block that is fenced as sh, bash, shell or console and has no prompt;
- a line of any other block without prompts that starts with one of PROGRAMS.
A command continues on the next line until bash finds it complete.

A comment before a block marks all its commands, or those that contain a text:

    <!-- commands: need PostgreSQL and NATS -->
    <!-- commands with "miopen lint": exit status 3, the sample has findings -->
    <!-- commands with "--watch": interrupted, exit status 3, jobs are left -->
    <!-- commands: not run, installs packages -->

requirements.py has the names after "need". help_marks.txt marks the examples of --help, after the name
of their verb.
"""

import dataclasses
import re
import subprocess

import requirements

FOLDERS = ("docs", "tests", "deploy", "examples", "bench", "tools")
PROGRAMS = (
    r"attune(?! [\w-]+:)|apt-get|c\+\+|cd|chmod|cmake|cp|ctest|cuda_first_call|curl|docker|export|for(?= \w+ in)|git|gcc|"
    r"kubectl|mariadb|mkdir|mpirun|mysql|nats-server|octave|pip|psql|python3|sbatch|srun|"
    r"sudo|systemctl|xlsx2csv|\./[\w./-]+|(?:bench|build|tests|tools|deploy)/[\w./-]+")
STARTS_COMMAND = re.compile(rf"(?:[A-Z_]+=\S+ )*(?:{PROGRAMS})(?: |$)")
SHELLS = ("sh", "bash", "shell", "console")
# Commands within text: of attune, and of programs and scripts of this repository.
MENTIONED = r"(?:attune(?= (?:--db \S+ )?[a-z])|bench/\w[\w./-]*|build/\w+/bin/\w+)"
REMARK = re.compile(r"\s{2,}#.*$|(?<=\s)# .*$")
MARK = re.compile(r'commands(?: with "(?P<text>[^"]+)")?: (?:not run, (?P<not_run>\S.*)|need (?P<needs>\S.*)|'
                  r'(?P<interrupted>interrupted, )?exit status (?P<statuses>\d+(?: or \d+)*), \S.*)')


@dataclasses.dataclass
class Mark:
    """Says one thing about the commands that contain `text`."""
    where: str
    text: str
    not_run: str | None = None  # The reason.
    needs: tuple = ()  # Names of requirements.
    statuses: tuple = ()  # One of them is expected.
    interrupted: bool = False  # By Ctrl-C.
    is_used: bool = False


@dataclasses.dataclass(frozen=True)
class Command:
    where: str
    text: str  # Without remarks and continued lines.
    block: str = ""  # Where its block begins.
    not_run: str | None = None
    needs: tuple = ()
    statuses: tuple = (0,)
    interrupted: bool = False


@dataclasses.dataclass
class Block:
    where: str  # PAGE:LINE of its first line.
    language: str
    lines: list
    marks: list


def markdown_files(root):
    """Returns all pages except the changelog, relative to `root`."""
    files = sorted(root.glob("*.md"))
    for folder in FOLDERS:
        files += sorted((root / folder).rglob("*.md"))
    return [path.relative_to(root) for path in files if path.name != "CHANGELOG.md"]


def parse_mark(where, text):
    match = MARK.fullmatch(text)
    if match is None:
        raise SystemExit(f"{where}: cannot read the mark '{text}'\nhint: CONTRIBUTING.md has the form")
    needs = tuple(match["needs"].split(" and ")) if match["needs"] else ()
    for name in needs:
        if name not in requirements.PROVIDERS:
            raise SystemExit(f"{where}: there is no requirement '{name}'\nhint: tests/docs/requirements.py has "
                             f"{', '.join(requirements.PROVIDERS)}")
    return Mark(where, match["text"] or "", match["not_run"], needs,
                tuple(int(status) for status in (match["statuses"] or "").split(" or ") if status),
                match["interrupted"] is not None)


class BlockReader:
    """Collects the code blocks of a page with the marks before them."""

    def __init__(self, page):
        self.page, self.blocks, self.marks = page, [], []
        self.block = self.fence = None
        self.after_blank = True

    def read(self, lines):
        for number, line in enumerate(lines, 1):
            self.read_line(number, line)
            self.after_blank = not line.strip()
        self.end_block()
        if self.marks:
            raise SystemExit(f"{self.marks[0].where}: the mark has no code block behind it")
        return self.blocks

    def read_line(self, number, line):
        fence = re.match(r"\s*(```+|~~~+)\s*(\w*)", line)
        mark = re.fullmatch(r"\s*<!-- (commands.*?) -->\s*", line)
        if self.fence:
            if fence and fence[1] == self.fence:
                self.end_block()
            else:
                self.block.lines.append(line)
        elif fence:
            self.end_block()
            self.fence = fence[1]
            self.begin_block(number + 1, fence[2] or "")
        elif line.startswith("    ") and (self.block or self.after_blank or self.marks):
            if self.block is None:
                self.begin_block(number, "")
            self.block.lines.append(line[4:])
        elif self.block and not line.strip():
            self.block.lines.append("")
        else:
            self.end_block()
            if mark:
                self.marks.append(parse_mark(f"{self.page}:{number}", mark[1]))
            elif line.strip() and self.marks:
                raise SystemExit(f"{self.marks[0].where}: the mark has no code block behind it")

    def begin_block(self, number, language):
        self.block = Block(f"{self.page}:{number}", language, [], self.marks)
        self.marks = []

    def end_block(self):
        if self.block:
            self.blocks.append(self.block)
        self.block = self.fence = None


def is_complete(text):
    return not text.endswith("\\") and subprocess.run(
        ["bash", "-n", "-c", text], stderr=subprocess.DEVNULL, check=False).returncode == 0


def plain(text):
    return re.sub(r"\s*\\\n\s*", " ", text).strip()


def marked(where, text, block, marks):
    """Returns the command with what `marks` say. The first mark counts where several give a status or a
    reason not to run; needs add up."""
    not_run, needs, ending = None, (), None
    for mark in (mark for mark in marks if mark.text in text):
        if mark.not_run and not not_run:
            not_run = mark.not_run
        elif mark.statuses and not ending:
            ending = mark
        elif mark.needs:
            needs += mark.needs
        else:
            continue
        mark.is_used = True
    return Command(where, text, block, not_run, needs, ending.statuses if ending else (0,),
                   ending is not None and ending.interrupted)


def commands_of(block):
    """Returns the commands of a block; none if it shows something else."""
    if block.language and block.language not in SHELLS:
        return []
    has_prompts = any(line.startswith("$ ") for line in block.lines)
    page, first_line = block.where.rsplit(":", 1)
    found, held, begin = [], "", 0
    for number, line in enumerate(block.lines, int(first_line)):
        if not held:
            is_command = (line.startswith("$ ") if has_prompts else
                          line.strip() and not line.startswith("#") if block.language else
                          STARTS_COMMAND.match(line))
            if not is_command:
                continue
            begin = number
        held += ("\n" if held else "") + REMARK.sub("", line.removeprefix("$ "))
        if is_complete(held):
            found.append(marked(f"{page}:{begin}", plain(held), block.where, block.marks))
            held = ""
    if held:
        raise SystemExit(f"{page}:{begin}: the command has no end: {held}")
    return found


def page_commands(root, page):
    blocks = BlockReader(page).read((root / page).read_text().splitlines())
    found = [command for block in blocks for command in commands_of(block)]
    for mark in (mark for block in blocks for mark in block.marks):
        if not mark.is_used:
            raise SystemExit(f"{mark.where}: the mark matches no command of its block")
    return found


def mentions(root, page):
    """Returns the commands within text, without the variables before them: [(where, "attune verb --option")]."""
    text = (root / page).read_text()
    return [(f"{page}:{text.count(chr(10), 0, match.start()) + 1}", match[1])
            for match in re.finditer(rf"`(?:[A-Z_]+=\S+ )*({MENTIONED} [^`\n]*)`", text)]


# ---- --help ----------------------------------------------------------------------------------------

def help_of_verbs(program, words=()):
    """Returns {words of a verb: its --help} for all verbs below `words`."""
    text = subprocess.run([program, *words, "--help"], capture_output=True, text=True,
                          check=True).stdout
    found = {words: text}
    listed = re.search(r"\nSubcommands:\n((?:  .*\n|\n)*)", text)
    names = re.findall(r"^  (\w[\w-]*)(?: |$)", listed[1] if listed else "", re.M)
    extensions = re.search(r"\nExtensions .*:\n((?:  .*\n)*)", text)
    for line in extensions[1].splitlines() if extensions else ():
        names += line.rsplit(": ", 1)[1].split(", ")
    for name in names:
        found.update(help_of_verbs(program, words + (name,)))
    return found


def read_help_marks(path):
    """Reads lines "attune VERB: MARK" as [(verb, mark)]."""
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            verb, _, text = line.partition(": ")
            found.append((verb, parse_mark(f"{path.name}:{number}", text)))
    return found


def help_commands(words, text, marks):
    """Returns the examples of a verb. `marks` come from read_help_marks."""
    if "\nExamples:\n" not in text:
        return []
    verb = " ".join(("attune", *words))
    of_verb = [mark for name, mark in marks if name == verb]
    found = []
    for line in text.split("\nExamples:\n")[1].splitlines():
        if re.match(r"  \S", line):
            command = plain(REMARK.sub("", line))
            found.append(marked(f"{verb} --help", command, f"{verb} --help: {command}", of_verb))
    return found
