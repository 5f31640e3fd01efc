"""tools/check_language.py on small trees: clean sources pass, each fault is reported with its line, and
ceilings only sink.

  check_language_test.py CHECKER
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

# Words in placeholders, so that this file has no fault itself.
WORD, WHO, IS, GOES = "nobody", "Who", "is", "goes"

CLEAN = {
    "attune/base/text.cc":
        '// The text of a file. What it holds is UTF-8.\nconst char* kUser = "' + WORD + '";  // The owner\n'
        "char quote = '\"';  // A \"quote\"\nint " + WORD + " = 1'000;\n",
    "attune/base/text.h": "/* A text.\n * Of any length. */\n",
    "tools/run.py": '"""Runs."""\nTEXT = "# What is no comment"\n',
    "cmake/Rules.cmake": "# Rules for all modules.\nset(RULE \"# Of no comment\")\n",
    "docs/page.md": "# What this page has\n",
    "tests/data/golden/v1.cl": "// What version 1 had\n",
}

# A source, its text, and the line and reason of its only fault.
FAULTS = (
    ("attune/base/a.h", "\n// What a file holds.\n", 2, "the comment begins with 'What'"),
    ("attune/base/a.cc", "int size;  // Of the file\n", 1, "the comment begins with 'Of'"),
    ("include/attune/a.h", "int a;\n/* Whether a is set.\n */\n", 2, "the comment begins with 'Whether'"),
    ("kernels/gemm/a.cl", "/** Whose rows they are */\n", 1, "the comment begins with 'Whose'"),
    ("kernels/gemm/a.cu", f"// A row that\n// {WORD} reads.\n", 2, f"'{WORD}'"),
    ("attune/base/a.cc", f'// A.\n\nauto text = "no {WORD}";\n', 3, f"'{WORD}'"),
    ("attune/base/a.cc", f'auto text = "it {IS} "\n            "told";\n', 1, f"'{IS} told'"),
    ("attune/base/a.cc", f"auto text = R\"x(\n a \"run\" {GOES} on)x\";\n", 2, f"'{GOES} on'"),
    ("attune/base/a.cc", f"/* A run that {GOES}\n * on. */\n", 1, f"'{GOES} on'"),
    ("apps/attune/main.cc", f"// {WHO}ever calls.\n", 1, f"'{WHO}ever'"),
    ("tools/run.py", '"""Runs."""\n\n\ndef run():\n    """Whether it ran."""\n', 5, "the comment begins with 'Whether'"),
    ("tools/run.py", f"a = '''x''' # b\nprint(f'a {WORD}')\n", 2, f"'{WORD}'"),
    ("bench/CMakeLists.txt", "# Of all benches.\n", 1, "the comment begins with 'Of'"),
)


def outcome(checker, root, *options):
    """(exit status, lines) of the checker on `root`."""
    run = subprocess.run([sys.executable, checker, "--root", root, *options], capture_output=True, text=True,
                         timeout=30, check=False)
    return run.returncode, run.stdout.splitlines()


def write(root, files):
    for name, text in files.items():
        path = pathlib.Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def reported_faults(checker):
    for name, text, line, reason in FAULTS:
        with tempfile.TemporaryDirectory() as root:
            write(root, CLEAN | {name: text})
            status, lines = outcome(checker, root)
            if status != 1 or lines[0] != f"{name}:{line}: {reason}" or "1 faults" not in lines[1]:
                yield f"{text!r}: exit {status}, {lines}"
            if outcome(checker, root, "--list", name) != (0, lines[:1]):
                yield f"--list {name} does not print {lines[:1]}"


def ceilings_only_sink(checker):
    with tempfile.TemporaryDirectory() as root:
        ceilings = pathlib.Path(root, "tools/language_ceilings.json")
        write(root, CLEAN | {"tools/language_ceilings.json": json.dumps({"attune": 3, "apps": 1}),
                             "attune/base/a.cc": "// What a is.\n\n// Of b.\n"})
        if outcome(checker, root) != (0, []):
            yield "faults below the ceiling fail the check"
        if outcome(checker, root, "--update")[0] != 0 or json.loads(ceilings.read_text()) != {"attune": 2}:
            yield f"--update left {ceilings.read_text()}"
        write(root, {"attune/base/b.cc": "// What b is.\n"})
        if outcome(checker, root, "--update")[0] != 1 or json.loads(ceilings.read_text()) != {"attune": 2}:
            yield f"--update with more faults left {ceilings.read_text()}"


def newest_files_come_first(checker):
    with tempfile.TemporaryDirectory() as root:
        write(root, {"attune/old.cc": "// What old is.\n\n" * 30, "attune/z_new.cc": "// What new is.\n"})
        os.utime(pathlib.Path(root, "attune/old.cc"), (0, 0))
        _, lines = outcome(checker, root)
        expected = ["... and 11 more", "attune: 31 faults, the ceiling is 0"]
        if not lines[0].startswith("attune/z_new.cc:1: ") or lines[20:22] != expected:
            yield f"not the newest 20 first: {lines}"


def main(checker):
    mistakes = []
    with tempfile.TemporaryDirectory() as root:
        write(root, CLEAN)
        if (clean := outcome(checker, root)) != (0, []):
            mistakes.append(f"The clean tree is not: {clean}")
    for part in (reported_faults, ceilings_only_sink, newest_files_come_first):
        mistakes.extend(part(checker))
    for line in mistakes:
        print(line)
    print(f"{len(FAULTS)} faults, {len(mistakes)} mistakes")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
