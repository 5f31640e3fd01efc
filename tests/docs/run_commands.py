"""Runs every command that the pages and --help show.

  run_commands.py --repository . --bin BIN --plugins PLUGINS              all commands
  run_commands.py ... --only docs/blas.md --only help_0 --verbose         the commands of some groups
  run_commands.py ... --needing 'an NVIDIA GPU'                           blocks with a command that needs it

A group is a page, or the examples of some verbs. Its commands run in order in a sandbox and must end
with status 0, or with the status of their mark. attune parses commands that do not run, because of
their mark or because this machine lacks what they need: their verb and options must exist. The test
prints every command that does not run, with the reason. Exit status 77: the machine lacks what --needing
names.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import commands
import requirements
import sandbox

# Verbs with examples that share a sandbox, in the order of their dependencies.
HELP_GROUPS = (
    ("", "devices", "solvers", "problems", "import", "tune", "best", "explain", "run", "export",
     "report", "build", "package", "package create", "package verify", "package lint",
     "package show", "networks"),
    ("session new", "jobs load", "applicability", "jobs cancel", "jobs retry", "status", "worker",
     "workers", "reconcile", "session", "jobs", "jobs list", "golden", "golden create", "golden add",
     "golden approve", "golden diff", "golden show", "golden list", "golden export",
     "golden rollback", "session list", "session show", "session diff", "session close"),
    ("replay", "blas", "cublas", "capture", "profile", "tunable", "miopen import", "miopen export",
     "miopen", "miopen lint", "miopen convert", "miopen merge", "miopen diff", "seer", "seer train",
     "seer evaluate", "seer pick", "seer collect", "seer parse", "seer occupancy", "model fit",
     "model", "model evaluate", "model show"),
)
PROBE = "--no-such-option"
SKIPPED = 77
REFUSED_PROBE = f"The following argument was not expected: {PROBE}."


@dataclasses.dataclass
class Report:
    name: str
    lines: list = dataclasses.field(default_factory=list)
    run: int = 0
    not_run: int = 0
    failed: int = 0
    seconds: float = 0

    def fail(self, command, message):
        self.failed += 1
        self.lines.append(f"FAILED {command.where}: {command.text}\n{message}")

    def skip(self, command, reason):
        self.not_run += 1
        self.lines.append(f"not run, {reason}: {command.text}")


# ---- commands that are not run ----------------------------------------------------------------------

def simple_commands(text):
    """Returns the words of each command of a line, without variables and redirections."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.commenters, lexer.whitespace_split = "", True
    found, words, skips = [], [], False
    for token in [*lexer, ";"]:
        if re.fullmatch(r"[;|&()]+", token):
            found += [words] if words else []
            words = []
        elif re.fullmatch(r"[<>]+&?", token):
            skips = True
        elif skips:
            skips = False
        elif words or not re.match(r"[A-Z_]+=", token):
            words.append(token)
    return found


def parse_error(folder, words):
    """Returns the complaint of attune's parser about a command, without running it."""
    end = words.index("--") if "--" in words else len(words)
    probed = shlex.join([*words[:end], PROBE, *words[end:]])
    status, printed = folder.run(probed)
    return None if status == 2 and REFUSED_PROBE in printed else f"'{probed}' prints:\n{printed}"


def compose_error(options, words):
    """Returns a file, or a service of it, that a command of Docker Compose names and that does not exist."""
    file = words[words.index("-f") + 1]
    if not (options.repository / file).exists():
        return f"There is no file '{file}'."
    text = re.search(r"^services:\n((?:[ #].*\n|\n)*)", (options.repository / file).read_text(), re.M)[1]
    services = re.findall(r"^  ([\w-]+):", text, re.M)
    named = [word.split("=")[0] for word in words[words.index("-f") + 3:] if not word.startswith("-")]
    return next((f"{file} has no service '{name}'." for name in named if name not in services), None)


def error_without_run(options, folder, text):
    presets = {preset["name"] for preset in json.loads(
        (options.repository / "CMakePresets.json").read_text())["configurePresets"]}
    for words in simple_commands(text):
        if words[0] == "attune" and (error := parse_error(folder, words)):
            return error
        if words[:2] == ["docker", "compose"] and (error := compose_error(options, words)):
            return error
        script = words[1] if words[0] == "python3" and len(words) > 1 else words[0]
        path = script.removeprefix("./")
        if re.fullmatch(r"[\w./-]+/[\w.-]+", script) and not path.startswith("build/") and not (
                (options.repository / path).exists() or (folder.path / path).exists()):
            return f"There is no file '{path}'."
        for option, value in zip(words, words[1:]):
            if option == "--preset" and value not in presets:
                return f"There is no preset '{value}'."
    return None


# ---- running ----------------------------------------------------------------------------------------

def missing(text, usable):
    """Returns a device or a program that a command needs and this machine lacks, or None."""
    spec = re.search(r"\bopencl:\d+\b", text)
    if spec and spec[0] not in usable:
        return spec[0]
    if re.search(r"--kernel \S+\.json|\./simulate", text) and "opencl:0" not in usable:
        return "opencl:0"
    return next((name for name in ("column", "c++")
                 if re.search(rf"(?:^|\| ){re.escape(name)} ", text) and not shutil.which(name)), None)


def reason_not_to_run(options, folder, command):
    if command.not_run:
        return command.not_run
    for name in command.needs:
        if name in requirements.TESTS and name != options.needing:
            return f"needs {name}, see {requirements.TESTS[name]}"
    lacks = folder.lacks(command.needs) or missing(command.text, options.devices)
    return f"needs {lacks}" if lacks else None


def run_command(options, folder, command, report):
    if reason := reason_not_to_run(options, folder, command):
        report.skip(command, reason)
        if error := error_without_run(options, folder, folder.adapted(command.text)):
            report.fail(command, error)
        return
    if error := folder.prepare(command.text):
        report.fail(command, error)
        return
    report.run += 1
    text = folder.adapted(command.text)
    timeout_s = max(sandbox.TIMEOUTS_S.get(name, sandbox.TIMEOUT_S) for name in (*command.needs, ""))
    begin = time.monotonic()
    status, printed = folder.run(text, command.interrupted, timeout_s)
    if options.verbose:
        report.lines.append(
            f"{command.where}: {text}: {status} ({time.monotonic() - begin:.1f} s)\n{printed}")
    if status not in command.statuses:
        ending = f"exit status {status}" if isinstance(status, int) else status
        what = f"{ending}, expected {' or '.join(map(str, command.statuses))}"
        report.fail(command, f"  run as: {text}\n  {what}\n{printed[-2000:]}")


def run_group(options, name, group):
    report, begin = Report(name), time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        with sandbox.Sandbox(options, pathlib.Path(scratch)) as folder:
            for command in group:
                run_command(options, folder, command, report)
    report.seconds = time.monotonic() - begin
    return report


def add_machine(options):
    """Adds what the machine has to the options of the program."""
    backends = json.loads(subprocess.run([options.bin / "attune", "devices", "--json"], capture_output=True,
                                         text=True, check=True).stdout)["backends"]
    options.devices = {device["spec"] for backend in backends for device in backend["devices"] if device["usable"]}
    options.libraries = {library["name"] for backend in backends for library in backend["libraries"]
                         if library["available"]}


# ---- groups -----------------------------------------------------------------------------------------

def help_groups(verbs, marks):
    """Returns {name: commands}. Verbs repeat the examples of their subverbs: these run once."""
    groups, seen = {}, set()
    for number, group in enumerate(HELP_GROUPS):
        found = [command for verb in group
                 for command in commands.help_commands(
                     tuple(verb.split()), verbs.get(tuple(verb.split()), ""), marks)]
        groups[f"help_{number}"] = [command for command in found
                                    if not (command.text in seen or seen.add(command.text))]
    return groups


def selected(groups, only, needing):
    """Returns the groups called `only`, and of them the blocks with a command that needs `needing`; all
    of them where these are empty."""
    found = {name: group for name, group in groups.items() if not only or name in only}
    if needing:
        blocks = {command.block for group in found.values() for command in group if needing in command.needs}
        found = {name: [command for command in group if command.block in blocks]
                 for name, group in found.items()}
    return {name: group for name, group in found.items() if group}


def group_errors(verbs, marks):
    listed = {verb for group in HELP_GROUPS for verb in group}
    shown = {" ".join(words) for words, text in verbs.items() if "\nExamples:\n" in text}
    return ([f"HELP_GROUPS lacks 'attune {verb}', which has examples" for verb in shown - listed] +
            [f"HELP_GROUPS has 'attune {verb}', which has no examples" for verb in listed - shown] +
            [f"{mark.where}: the mark matches no example" for _, mark in marks if not mark.is_used])


def help_of_program(options, name):
    """Returns the --help of a bench or script that pages mention, "" where it is not built, or None for no such
    program."""
    script = options.repository / name
    if script.is_file():
        return subprocess.run(["python3", script, "--help"], capture_output=True, text=True, check=False).stdout
    program = options.bin / pathlib.Path(name).name
    if program.exists():
        return subprocess.run([program, "--help"], capture_output=True, text=True, check=False).stdout
    is_source = any((options.repository / "bench").glob(f"**/{program.name}*.cc"))
    return "" if is_source or program.name.endswith("_fuzz") else None


def option_errors(where, text, words, known, program):
    options = (re.split(r"[=/,.;:)|]", word)[0]
               for word in (words[:words.index("--")] if "--" in words else words))
    return [f"{where}: `{text}`: '{program}' has no option {option}"
            for option in options
            if re.fullmatch(r"--[a-z][\w-]*", option) and not re.search(rf"{option}\b(?!-)", known)]


def mention_errors(options, where, text, verbs):
    """Returns the verbs and options of a command within text that do not exist."""
    program, *words = re.sub(r"[\[\]]", " ", text).split()
    if program != "attune":
        known = help_of_program(options, program)
        if known is None:
            return [f"{where}: `{text}`: there is no program '{program}'"]
        return option_errors(where, text, words, known, program) if known else []
    if words[0] == "--db" and len(words) > 2:
        words = words[2:]
    verb = ()
    while words and verb + (words[0],) in verbs:
        verb += (words.pop(0),)
    if not verb and words and re.fullmatch(r"[a-z]+", words[0]):
        return [f"{where}: `{text}`: there is no verb '{words[0]}'"]
    return option_errors(where, text, words, verbs[verb] + verbs[()], " ".join(("attune", *verb)))


def options_of_program():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repository", type=lambda text: pathlib.Path(text).resolve(), required=True)
    parser.add_argument("--bin", type=lambda text: pathlib.Path(text).resolve(), required=True)
    parser.add_argument("--plugins", type=lambda text: pathlib.Path(text).resolve(), required=True)
    parser.add_argument("--only", action="append", default=[], metavar="GROUP")
    parser.add_argument("--needing", choices=requirements.TESTS, metavar="REQUIREMENT")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


def main():
    options = options_of_program()
    verbs = commands.help_of_verbs(options.bin / "attune")
    marks = commands.read_help_marks(options.repository / "tests/docs/help_marks.txt")
    groups = help_groups(verbs, marks)
    # Sandboxes have short versions of these lists.
    groups["whole_lists"] = [
        commands.Command("sandbox.py", f"attune import {options.repository / name} --tag whole")
        for name in sandbox.SHORT_LISTS]
    pages = commands.markdown_files(options.repository)
    groups.update({str(page): commands.page_commands(options.repository, page) for page in pages})
    errors = group_errors(verbs, marks)
    for page in pages:
        for where, text in commands.mentions(options.repository, page):
            errors += mention_errors(options, where, text, verbs)
    add_machine(options)
    if options.needing and (lacks := requirements.PROVIDERS[options.needing](
            argparse.Namespace(options=options, copy_sources=lambda: None))):
        print(f"skipped: needs {options.needing} ({lacks})")
        return SKIPPED
    chosen = selected(groups, options.only, options.needing)
    reports = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        started = [pool.submit(run_group, options, *item) for item in chosen.items()]
        for future in concurrent.futures.as_completed(started):
            report = future.result()
            reports.append(report)
            print(f"{report.name}: {report.run} run, {report.not_run} not run, {report.failed} failed "
                  f"({report.seconds:.0f} s)")
            print("".join(f"  {line}\n" for line in report.lines), end="", flush=True)
    print("".join(f"FAILED {error}\n" for error in errors), end="")
    run, not_run, failed = (sum(getattr(report, name) for report in reports)
                            for name in ("run", "not_run", "failed"))
    print(f"{run + not_run} commands: {run} run, {not_run} not run; {failed + len(errors)} failures")
    return 1 if failed or errors else 0


if __name__ == "__main__":
    sys.exit(main())
