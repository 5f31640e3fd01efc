#!/usr/bin/env python3
"""Checks the laws that the compiler does not: which module may include which, and the house limits.

  tools/check_layers.py [--root DIR]

Prints one line for each violation, `file:line: what is wrong`, and exits 1 if there is any.

* A module includes only modules that its attune_module() names in DEPENDS (a test also what
  TEST_LIBRARIES names), and DEPENDS names only modules lower in ORDER.
* Nothing under attune/ includes backends/, storage/, runtime/ or apps/. A backend or storage includes its own
  folder at any depth, and another one only if DEPENDS or SOURCES names it. runtime/ wires all of them together.
* Core includes nothing of extensions/, and an extension nothing of another one. A module of an extension keeps to its DEPENDS.
* The sides that must not meet (FORBIDDEN) do not, not even through a third module.
* The struct of an operator's problems (attune/ops/operators.inc lists the operators) is named only in its folder of attune/ops,
  in folders of operators in backends, in tests and benches, and in files about one operator (ABOUT_ONE_OPERATOR).
* A file has at most 600 lines, a header 300, a function 70 and five parameters; no file or folder is called util, helper
  or common; every header begins with `#pragma once`; no TODO stays without an issue.
* A source includes the header of its name first.
* No test sleeps, except in tests/e2e, where a signal has to come at a random moment of a real run.
"""

import argparse
import ast
import pathlib
import re
import sys

ORDER = ("base problem space trial model device solver kernel compile measure verify search record formats index tuner "
         "library dispatch tunable session runtime").split()

# module -> modules that it must not reach, however indirectly.
FORBIDDEN = {
    "dispatch": {"measure", "verify", "search", "tuner", "session"},
    "search": {"device", "solver", "compile", "measure", "verify", "record"},
    "replay": {"device", "solver", "compile", "measure", "verify", "record"},
    "seer": {"device", "solver", "compile", "measure", "verify", "record"},
    "model": {"device", "solver", "compile", "measure", "verify", "record"},
    # The database side never links what computes. `record` may see `measure`, for the one rule that
    # decides who wins, and through it the interface in `device`, which has no code.
    "record": {"solver", "compile", "verify", "tuner"},
    "session": {"solver", "compile", "verify", "tuner"},
    # A queue of jobs does not know how a job is done.
    "fleet": {"solver", "compile", "verify", "tuner"},
    "sql": {"solver", "compile", "verify", "tuner"},
}

# Values do no I/O and read no clock.
VALUE_MODULES = {"problem", "space", "trial"}
IO_HEADERS = {"fstream", "iostream", "cstdio", "stdio.h", "filesystem", "thread", "chrono", "unistd.h",
              "fcntl.h", "sys/socket.h", "dlfcn.h", "ctime", "time.h"}

# Files about one operator: its C functions, formats of PyTorch's TunableOp (GEMM), of MIOpen and its Fin (convolutions), and the
# models of time that SEER and others published.
ABOUT_ONE_OPERATOR = re.compile(
    r"(runtime/c_runtime\.cc|attune/(tunable|formats/miopen|library/fin)/.*|attune/formats/(tunable|export)\w*\.(cc|h)|"
    r"attune/model/tiled_launches\.(cc|h)|attune/index/timed_products\.h|"
    r"extensions/(miopen|models)/.*|apps/attune/imported_best\.cc)$")

# Sources that only tests link.
FOR_TESTS = re.compile(r"_test$|^test_|^sample_|^naive_reference$|^result_error$")

ABOVE_ATTUNE = ("backends/", "storage/", "runtime/")
SOURCE_FOLDERS = ("attune", "include", "backends", "storage", "runtime", "apps", "extensions", "tests", "bench",
                  "examples", "tools", "python", "kernels")
HEADER_SUFFIXES = {".h", ".hpp"}
CODE_SUFFIXES = HEADER_SUFFIXES | {".cc", ".cu", ".cuh", ".cl", ".py", ".sh", ".cpp"}
MAX_FILE_LINES = 600
MAX_HEADER_LINES = 300
MAX_FUNCTION_LINES = 70
# A device kernel is one function by its nature: a loop over tiles with barriers between its parts.
MAX_KERNEL_LINES = 100
MAX_PARAMETERS = 5
# Where a function may have more: inner loops, of which each takes the registers that it walks by, and
# interfaces whose parameters are not ours to choose.
MANY_PARAMETERS = re.compile(
    r"^(backends/host/(conv|kernels)/.*|tests/blas/plain_blas\.cc|tests/cublas/stand_in_cublas\.cc|"
    r"extensions/interposers/capture/\w+_entry_points\.cc|tests/capture/stand_in_cuda\.cc)$")
C_INTERFACE = re.compile(r"^(extern )?attune_code attune_\w+\(")
BAD_NAMES = re.compile(r"(^|[_.-])(utils?|helpers?|common)($|[_.-])")
SLEEP = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
CALL = re.compile(r"\battune_(module|plugin)\s*\(([^)]*)\)")
KEYWORDS = {"SOURCES", "DEPENDS", "LIBRARIES", "TESTS", "TEST_LIBRARIES"}


class Module:
    """The arguments of an attune_module() or attune_plugin()."""

    def __init__(self, name, folder, fields):
        self.name = name
        self.folder = folder
        self.depends = fields.get("DEPENDS", [])
        self.sources = fields.get("SOURCES", [])
        self.test_depends = [x.removeprefix("attune_") for x in fields.get("TEST_LIBRARIES", [])]


def read_modules(root):
    """Every module under attune/, backends/, storage/, runtime/ and extensions/, by name."""
    modules = {}
    for top in ("attune", "backends", "storage", "runtime", "extensions"):
        for path in sorted((root / top).rglob("CMakeLists.txt")):
            text = re.sub(r"#.*", "", path.read_text())
            for kind, body in CALL.findall(text):
                words = body.split()
                fields, key = {}, None
                for word in words[1:]:
                    if word in KEYWORDS:
                        key = word
                    elif key:
                        fields.setdefault(key, []).append(word)
                name = words[0] if kind == "module" else "plugin:" + words[0]
                modules[name] = Module(name, path.parent, fields)
    return modules


def reachable(modules, name):
    seen, todo = set(), [name]
    while todo:
        for dependency in modules[todo.pop()].depends:
            if dependency in modules and dependency not in seen:
                seen.add(dependency)
                todo.append(dependency)
    return seen


def check_depends(modules, root):
    """DEPENDS names only what is lower, and the sides that must not meet do not."""
    for module in modules.values():
        where = f"{(module.folder / 'CMakeLists.txt').relative_to(root)}:1"
        if module.folder.parent == root / "attune" and module.name not in ORDER:
            yield f"{where}: module '{module.name}' is not in the order of modules"
        for dependency in module.depends:
            if module.name in ORDER:
                if dependency not in ORDER:
                    yield f"{where}: module '{module.name}' depends on '{dependency}', which is above it"
                elif ORDER.index(dependency) >= ORDER.index(module.name):
                    yield (f"{where}: module '{module.name}' depends on '{dependency}', which is not "
                           f"lower in the order of modules")
        for bad in sorted(reachable(modules, module.name) & FORBIDDEN.get(module.name, set())):
            yield f"{where}: '{module.name}' must never reach '{bad}', not even indirectly"


def includes_of(path):
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1) == '"', match.group(2)


def included_module(name):
    """The module that `#include "name"` belongs to, or None if it is not one of ours: the folder
    under attune/, "runtime", or "backends/x" and "storage/x" for everything below these. Operators are a
    part of the module `problem`."""
    parts = name.split("/")
    if parts[:2] == ["attune", "ops"]:
        return "problem"
    if parts[0] == "runtime":
        return "runtime"
    if len(parts) < 3 or parts[0] not in ("attune", "backends", "storage"):
        return None
    return parts[1] if parts[0] == "attune" else f"{parts[0]}/{parts[1]}"


def family(folder, root):
    """The name in includes of the modules of `folder`."""
    return included_module(f"{folder.relative_to(root)}/x")


def check_includes(modules, root):
    families = {module.name: family(module.folder, root) for module in modules.values()}
    owners = {}
    for module in modules.values():
        if families[module.name] is None:
            yield from check_sources_of_extension(module, families, root)
        else:
            owners.setdefault(families[module.name], []).append(module)
    for name, members in owners.items():
        allowed = {name}
        for member in members:
            allowed |= {families.get(d, d) for d in member.depends}
            allowed |= {f"backends/{s.split('/')[1]}" for s in member.sources if s.startswith("../")}
        for_tests = allowed.union(*(set(member.test_depends) for member in members))
        core = "/" not in name
        folders = [root / ("attune/" + name if core and name != "runtime" else name)]
        if name == "problem":
            folders.append(root / "attune/ops")
        for path in sorted(path for folder in folders for path in folder.rglob("*")):
            if path.suffix not in (".cc", ".h"):
                continue
            is_test = path.stem.endswith(("_test", "_fuzz"))
            # Tests of a backend put it together with whatever it takes to run it.
            if is_test and not core:
                continue
            yield from check_file_includes(path, root, name, for_tests if is_test else allowed)


def check_sources_of_extension(module, families, root):
    """A module of an extension shares its folder with verbs, so only the sources that it names are checked."""
    allowed = {families.get(d) or d for d in module.depends}
    for source in module.sources:
        for path in (module.folder / source, (module.folder / source).with_suffix(".h")):
            if path.is_file():
                yield from check_file_includes(path, root, f"extensions/{module.name}", allowed)


def check_file_includes(path, root, module, allowed):
    is_test = path.stem.endswith(("_test", "_fuzz"))
    core = "/" not in module
    for number, quoted, name in includes_of(path):
        where = f"{path.relative_to(root)}:{number}"
        if quoted:
            target = included_module(name)
            if name.startswith("apps/"):
                yield f"{where}: only programs include {name}"
            elif core and not is_test and name.startswith(ABOVE_ATTUNE) and module != "runtime":
                yield f"{where}: a module under attune/ includes {name}"
            elif target and target not in allowed and not (
                module == "runtime" and target.startswith(("backends/", "storage/"))):
                word = "TEST_LIBRARIES or DEPENDS" if is_test else "DEPENDS"
                yield f"{where}: includes {name}, but '{target}' is not in {word} of '{module}'"
        elif module in VALUE_MODULES and not is_test and name in IO_HEADERS:
            yield f"{where}: '{module}' holds values, which do no I/O and read no clock: <{name}>"


def check_extensions(root):
    for path in code_files(root):
        top, *below = path.relative_to(root).parts
        if path.suffix not in (".cc", ".h") or top in ("tests", "bench"):
            continue
        own = f"extensions/{below[0]}/" if top == "extensions" else None
        for number, quoted, name in includes_of(path):
            if quoted and name.startswith("extensions/") and not (own and name.startswith(own)):
                what = "another extension" if own else "an extension"
                yield f"{path.relative_to(root)}:{number}: includes {name} of {what}"


def check_operator_types(root):
    listed = root / "attune/ops/operators.inc"
    operators = re.findall(r"^ATTUNE_OPERATOR\((\w+)\)", listed.read_text(), re.MULTILINE) if listed.exists() else []
    if not operators:
        return
    folders = {name: re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() for name in operators}
    named = re.compile(rf"\b({'|'.join(operators)})\b")
    backend = re.compile(rf"backends/\w+/({'|'.join(folders.values())})/")
    for path in code_files(root):
        name = path.relative_to(root).as_posix()
        is_test = FOR_TESTS.search(path.stem) or name.startswith(("tests/", "bench/", "examples/", "include/"))
        if path.suffix not in (".cc", ".h") or is_test or backend.match(name) or ABOUT_ONE_OPERATOR.match(name):
            continue
        text = stripped(path.read_text(errors="replace"))
        others = set(re.findall(rf"\b(?:using|void) ({'|'.join(operators)})\b", text))  # Other types or functions.
        for number, line in enumerate(text.splitlines(), 1):
            for operator in set(named.findall(line)) - others:
                if not name.startswith(f"attune/ops/{folders[operator]}/"):
                    yield f"{name}:{number}: names {operator}, which is for attune/ops/{folders[operator]} and for backends"


def code_files(root):
    for top in SOURCE_FOLDERS:
        if (root / top).is_dir():
            for path in sorted((root / top).rglob("*")):
                if path.is_file() and "data" not in path.relative_to(root).parts[1:-1]:
                    yield path


def check_limits(root):
    for path in code_files(root):
        name = path.relative_to(root)
        for part in name.parts:
            if BAD_NAMES.search(part):
                yield f"{name}:1: '{part}' says nothing; name it after what is in it"
        if path.suffix not in CODE_SUFFIXES:
            continue
        text = path.read_text(errors="replace")
        lines = text.count("\n")
        limit = MAX_HEADER_LINES if path.suffix in HEADER_SUFFIXES else MAX_FILE_LINES
        if lines > limit:
            yield f"{name}:{limit + 1}: {lines} lines, the limit is {limit}"
        # Installed headers have an include guard, which every compiler knows.
        installed = name.parts[0] == "include"
        if path.suffix in HEADER_SUFFIXES and not installed and "#pragma once" not in text:
            yield f"{name}:1: a header needs #pragma once"
        for number, line in enumerate(text.splitlines(), 1):
            if re.search(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))", line) and path != pathlib.Path(__file__).resolve():
                yield f"{name}:{number}: a TODO names an issue, as in TODO(#12)"
        functions = python_functions if path.suffix == ".py" else c_functions
        limit = MAX_KERNEL_LINES if path.suffix == ".cl" else MAX_FUNCTION_LINES
        for number, length, head in functions(text):
            if length > limit:
                yield f"{name}:{number}: {length} lines in '{head[:60]}', the limit is {limit}"
            if path.suffix not in (".cc", *HEADER_SUFFIXES) or MANY_PARAMETERS.match(str(name)):
                continue
            count = parameters(head)
            if count > MAX_PARAMETERS and not C_INTERFACE.match(head):
                yield (f"{name}:{number}: {count} parameters of '{head[:60]}', the limit is "
                       f"{MAX_PARAMETERS}; give them a struct")


def check_sleeps(root):
    for path in code_files(root):
        name = path.relative_to(root)
        is_test = name.parts[0] == "tests" or path.stem.endswith("_test")
        if not is_test or name.parts[:2] == ("tests", "e2e") or path.suffix not in {".cc", ".h", ".py"}:
            continue
        text = path.read_text(errors="replace")
        code = text if path.suffix == ".py" else stripped(text)
        for number, line in enumerate(code.splitlines(), 1):
            if SLEEP.search(line):
                yield f"{name}:{number}: only tests/e2e sleeps; wait for what has to happen"


def check_own_headers(root):
    for path in code_files(root):
        header = path.with_suffix(".h")
        name = path.relative_to(root)
        if path.suffix != ".cc" or name.parts[0] == "tests" or not header.exists():
            continue
        lines = path.read_text(errors="replace").splitlines()
        number, first = next(((number, found.group(2)) for number, line in enumerate(lines, 1)
                              if (found := INCLUDE.match(line))), (1, None))
        if first not in (None, header.relative_to(root).as_posix()):
            yield f"{name}:{number}: its own header comes first, so that it is seen to compile alone"


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1, node.name


STRIP = re.compile(
    r'R"(?P<tag>[^()\\ ]{0,16})\(.*?\)(?P=tag)"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'
    r"(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.S | re.M)


def stripped(text):
    """`text` with comments, literals and directives blanked and every newline kept."""
    return STRIP.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


def c_functions(text):
    """(first line, number of lines, head) of each function at namespace or class scope."""
    code = stripped(text)
    stack = []  # (is_scope, is_function, start offset, head)
    start = 0
    for match in re.finditer(r"[{};]", code):
        position, mark = match.start(), match.group(0)
        if mark == "{":
            head = code[start:position].strip()
            in_scope = all(entry[0] for entry in stack)
            is_type = re.match(r"(template\s*<.*>\s*)?(export\s+)?(inline\s+)?"
                               r"(namespace|extern\s*$|class|struct|enum|union)\b", head, re.S)
            is_function = in_scope and not is_type and "(" in head and not head.endswith("=")
            first = start + len(code[start:position]) - len(code[start:position].lstrip())
            stack.append((bool(is_type) and in_scope, is_function, first, head))
        elif mark == "}" and stack:
            _, is_function, first, head = stack.pop()
            if is_function:
                begin = code.count("\n", 0, first) + 1
                end = code.count("\n", 0, position) + 1
                yield begin, end - begin + 1, re.sub(r"\s+", " ", head)
        start = position + 1


def parameters(head):
    """How many parameters the function with this head has."""
    depth, count, is_empty = 0, 1, True
    for mark in head[head.index("("):]:
        depth += mark in "([{<"
        depth -= mark in ")]}>"
        if depth == 0:
            break
        count += mark == "," and depth == 1
        is_empty = is_empty and mark in "( "
    return 0 if is_empty else count


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root.resolve()
    modules = read_modules(root)
    problems = [*check_depends(modules, root), *check_includes(modules, root),
                *check_extensions(root), *check_operator_types(root), *check_limits(root),
                *check_sleeps(root), *check_own_headers(root)]
    for line in problems:
        print(line)
    print(f"check_layers: {len(modules)} modules, {len(problems)} violation(s)", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
