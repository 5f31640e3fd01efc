#!/usr/bin/env python3
"""Checks that comments and messages are in plain English.

  tools/check_language.py [--root DIR]             fails if a folder has more faults than its ceiling
  tools/check_language.py [--root DIR] --update    lowers each ceiling to the present count
  tools/check_language.py [--root DIR] --list PATH prints all faults in a file or folder

A fault is a comment that begins with a word of OPENINGS, or a comment or message with a word of WORDS or
a phrase of PHRASES. A message is a string literal with a blank in it. Docstrings are comments.

Each top-level folder has a ceiling in tools/language_ceilings.json. Ceilings never rise.
"""

import argparse
import bisect
import collections
import json
import pathlib
import re
import sys

CEILINGS = "tools/language_ceilings.json"
FOLDERS = ("apps", "attune", "backends", "bench", "cmake", "deploy", "examples", "extensions", "include", "kernels",
           "runtime", "storage", "tests", "tools")
MAX_SHOWN = 20

OPENINGS = re.compile(r"\W*(What|Of|Whose|Whether)\b")
WORDS = r"(?i:somebody|nobody|whoever|whomever)"
PHRASES = r"(?:is|are)\s+told|(?:is|are)\s+said\s+to|goes\s+on|may\s+be\s+had|(?:is|are)\s+to\s+be|standing\s+choice"
BANNED = re.compile(rf"\b(?:{WORDS}|{PHRASES})\b")

# Each pattern matches a whole comment or literal; `block` and `doc` can span lines.
C_TOKENS = re.compile(
    r"""//(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/|R"(?P<end>[^\s()"]*)\((?P<raw>.*?)\)(?P=end)\""""
    r"""|"(?P<text>(?:\\.|[^"\\\n])*)"|(?<!\w)'(?:\\.|[^'\\\n])+'""", re.DOTALL)
PYTHON_TOKENS = re.compile(
    r"""\#(?P<line>[^\n]*)|^[ ]*[rR]?(?P<quotes>\"{3}|'{3})(?P<doc>.*?)(?P=quotes)"""
    r"""|(?P<long>\"{3}|'{3})(?P<raw>.*?)(?P=long)"""
    r"""|(?P<quote>["'])(?P<text>(?:\\.|(?!(?P=quote))[^\\\n])*)(?P=quote)""", re.DOTALL | re.MULTILINE)
CMAKE_TOKENS = re.compile(
    r"""\#\[\[(?P<block>.*?)\]\]|\#(?P<line>[^\n]*)|"(?P<text>(?:\\.|[^"\\])*)\"""", re.DOTALL)
TOKENS = (dict.fromkeys((".c", ".cc", ".cl", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".inc"), C_TOKENS)
          | {".py": PYTHON_TOKENS, ".cmake": CMAKE_TOKENS})

COMMENTS = ("line", "block", "doc")
Part = collections.namedtuple("Part", "start end kind text_start text")
Fault = collections.namedtuple("Fault", "folder name line reason")


def parts_of(text, tokens):
    """Yields each comment and string literal of a source."""
    for match in tokens.finditer(text):
        for group in ("line", "block", "doc", "raw", "text"):
            if group in tokens.groupindex and match[group] is not None:
                kind = group if group in COMMENTS else "text"
                yield Part(match.start(), match.end(), kind, match.start(group), match[group])


def continues(text, before, part):
    """Returns true if `part` is a further line of the comment `before`, or a literal that is adjacent to it."""
    between = text[before.end:part.start]
    if before.kind != part.kind or between.strip():
        return False
    return part.kind == "text" or part.kind == "line" and between.count("\n") == 1


def joined(text, parts):
    """Yields lists of parts that a reader sees as one text: the lines of a comment, adjacent literals."""
    group = []
    for part in parts:
        if group and not continues(text, group[-1], part):
            yield group
            group = []
        group.append(part)
    if group:
        yield group


def faults_of_text(text, tokens):
    """Yields (offset, reason) for each fault of a source."""
    for group in joined(text, parts_of(text, tokens)):
        is_comment = group[0].kind in COMMENTS
        opening = OPENINGS.match(group[0].text) if is_comment else None
        if opening:
            yield group[0].text_start + opening.start(1), f"the comment begins with '{opening[1]}'"
        whole = "".join(part.text + "\n" * is_comment for part in group)
        if not is_comment and not re.search(r"\s", whole):
            continue
        whole = re.sub(r"(?<=\n)\s*\*", lambda stars: " " * len(stars[0]), whole)  # As in /* a\n * b */.
        for match in BANNED.finditer(whole):
            yield offset_in(group, match.start(), is_comment), f"'{' '.join(match[0].split())}'"


def offset_in(group, position, is_comment):
    """The offset in the source of a position in the joined text of `group`."""
    for part in group:
        length = len(part.text) + is_comment
        if position < length:
            return part.text_start + position
        position -= length
    return group[-1].end


def source_files(root):
    """Yields the sources of `root` in order, without test data, which is kept to the byte."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            tokens = CMAKE_TOKENS if path.name == "CMakeLists.txt" else TOKENS.get(path.suffix)
            if tokens and "data" not in path.relative_to(root).parts:
                yield folder, path, tokens


def faults_of(root):
    """All faults below `root`; those of the files that changed last come first."""
    found = []
    for folder, path, tokens in source_files(root):
        text = path.read_text(errors="replace")
        faults = list(faults_of_text(text, tokens))
        if not faults:
            continue
        ends = [match.start() for match in re.finditer("\n", text)]
        name = path.relative_to(root).as_posix()
        lines = [Fault(folder, name, bisect.bisect_left(ends, offset) + 1, reason) for offset, reason in faults]
        found.append((-path.stat().st_mtime, name, lines))
    return [fault for _, _, lines in sorted(found) for fault in lines]


def shown(faults):
    return [f"{fault.name}:{fault.line}: {fault.reason}" for fault in faults]


def check(faults, ceilings):
    """Prints the faults in folders above their ceiling. Returns true if no folder is."""
    counts = collections.Counter(fault.folder for fault in faults)
    above = [folder for folder in counts if counts[folder] > ceilings.get(folder, 0)]
    lines = shown(fault for fault in faults if fault.folder in above)
    for line in lines[:MAX_SHOWN]:
        print(line)
    if len(lines) > MAX_SHOWN:
        print(f"... and {len(lines) - MAX_SHOWN} more")
    for folder in sorted(above):
        print(f"{folder}: {counts[folder]} faults, the ceiling is {ceilings.get(folder, 0)}")
    if above:
        print("hint: reword your lines; the list begins with the files that changed last")
    return not above


def update(path, faults, ceilings):
    """Writes the present counts as ceilings. Call after check(): no count may be above its ceiling."""
    counts = collections.Counter(fault.folder for fault in faults)
    lower = {folder: counts[folder] for folder in sorted(counts)}
    path.write_text(json.dumps(lower, indent=2) + "\n")
    print(f"ceilings: {sum(ceilings.values())} faults before, {sum(lower.values())} now")


def main():
    parser = argparse.ArgumentParser(description="Check that comments and messages are in plain English")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--update", action="store_true", help="lower each ceiling to the present count")
    action.add_argument("--list", metavar="PATH", help="print all faults in a file or folder of the root")
    options = parser.parse_args()
    faults = faults_of(options.root)
    if options.list is not None:
        below = pathlib.PurePosixPath(options.list)
        for line in shown(fault for fault in faults if pathlib.PurePosixPath(fault.name).is_relative_to(below)):
            print(line)
        return 0
    path = options.root / CEILINGS
    ceilings = json.loads(path.read_text()) if path.exists() else {}
    if not check(faults, ceilings):
        return 1
    if options.update:
        update(path, faults, ceilings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
