#!/usr/bin/env python3
"""The C interface of libattune.so as programs were built against it: what the library exports, and
what the headers say of functions, structs, enumerators and numbers.

  c_abi.py --library libattune.so --include FOLDER --compiler CC --golden FILE [--update]

Prints how the interface differs from the golden file, line by line, and fails if it does.
"""

import argparse
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

HEADERS = ["attune/attune.h", "attune/capture.h", "attune/kernels.h", "attune/operators.h", "attune/profile.h", "attune/tunable.h"]
EXPORTED = r'__attribute__\s*\(\(visibility\("default"\)\)\)'


def output_of(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


def without_names(declaration):
    """"int f(int)" for "int f(int x)": programs do not know what parameters are called."""
    return re.sub(r"\s*(?<=[\s*])\w+(?=,|\)(?!\())", "", declaration)


def fields_of(body):
    """{"m": ..., "in": ...}: the names that the declarations of a struct declare, in order."""
    fields = []
    for declaration in filter(None, map(str.strip, body.split(";"))):
        for declarator in declaration.split(","):
            fields.append(re.search(r"(\w+)\s*(?:\[[^]]*\]\s*)*$", declarator).group(1))
    return fields


class Headers:
    def __init__(self, compiler, include):
        self.compiler = compiler
        self.include = include
        of_operators = sorted(f"attune/ops/{path.name}" for path in pathlib.Path(include, "attune/ops").glob("*.h"))
        self.lines = "".join(f"#include <{header}>\n" for header in HEADERS + of_operators)
        preprocess = (compiler, f"-I{include}", "-xc", "-E")
        self.text = output_of(*preprocess, "-P", "-", text=self.lines)
        self.macros = output_of(*preprocess, "-dM", "-", text=self.lines)

    def functions(self):
        """"attune_free": "void attune_free(void*)"."""
        declarations = (without_names(one_line(found))
                        for found in re.findall(EXPORTED + r"([^;]+);", self.text))
        return {re.search(r"(\w+)\s*\(", text).group(1): text for text in declarations}

    def callbacks(self):
        return sorted(without_names(one_line(found))
                      for found in re.findall(r"typedef[^;]*\(\*attune_\w+\)[^;]*", self.text))

    def values(self):
        """Lines of sizes, offsets and numbers, as the compiler sees them."""
        program = [self.lines, "#include <stdio.h>\nint main(void) {\n"]

        def say(line, *expressions):
            values = "".join(f", (unsigned long long)({expression})" for expression in expressions)
            program.append(f'  printf("{line}\\n"{values});\n')

        for name in sorted(re.findall(r"#define (ATTUNE_\w+) (?:\w+)$", self.macros, re.MULTILINE)):
            say(f"number {name} %llu", name)
        for name, body in self.blocks("enum"):
            for enumerator in re.findall(r"(?:^|,)\s*(\w+)", body):
                say(f"enum {name} {enumerator} %llu", enumerator)
        for name, body in self.blocks("struct"):
            say(f"struct {name}: %llu bytes, aligned to %llu", f"sizeof({name})",
                f"_Alignof({name})")
            for field in fields_of(body):
                say(f"struct {name}.{field}: %llu bytes at %llu", f"sizeof((({name}*)0)->{field})",
                    f"offsetof({name}, {field})")
        program.append("  return 0;\n}\n")
        with tempfile.TemporaryDirectory() as folder:
            binary = pathlib.Path(folder, "values")
            output_of(self.compiler, f"-I{self.include}", "-xc", "-o", binary, "-",
                      text="".join(program))
            return output_of(binary).splitlines()

    def blocks(self, kind):
        return sorted(re.findall(rf"typedef {kind} (attune_\w+)\s*{{(.*?)}}\s*\1\s*;", self.text,
                                 re.DOTALL))


def exported_by(library):
    """"attune_version": "attune_version@@ATTUNE_1"."""
    names = {}
    for line in output_of("nm", "-D", "--defined-only", library).splitlines():
        kind, name = line.split()[-2:]
        if kind != "A":  # The name of a version of the interface itself.
            names[name.split("@")[0]] = name
    return names


def interface_of(library, headers):
    soname = re.search(r"\(SONAME\).*\[(.*)\]", output_of("readelf", "-d", library)).group(1)
    exported = exported_by(library)
    declared = headers.functions()
    lines = [f"soname {soname}"]
    for name in sorted(exported.keys() | declared.keys()):
        lines.append(f"function {exported.get(name, name + ' is not exported')}: "
                     f"{declared.get(name, 'is in no header')}")
    return lines + headers.callbacks() + headers.values()


def difference(golden, now):
    """The diff from the golden lines to those of now; empty if they are the same."""
    return list(difflib.unified_diff(golden, now, "golden", "now", lineterm="", n=1))


def main():
    parser = argparse.ArgumentParser()
    for name in ("library", "include", "compiler", "golden"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    now = interface_of(arguments.library, Headers(arguments.compiler, arguments.include))
    golden = pathlib.Path(arguments.golden)
    if arguments.update:
        golden.write_text("\n".join(now) + "\n", encoding="utf-8")
        return 0
    changed = difference(golden.read_text(encoding="utf-8").splitlines(), now)
    if not changed:
        return 0
    print("\n".join(changed))
    print(f"The C interface is not that of {golden}. What was only added, at the end of a struct "
          "with struct_size too, is taken over with --update. Everything else breaks programs that "
          "are built already: take it back, or raise ATTUNE_API_VERSION and the soname and begin a "
          "new golden file.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
