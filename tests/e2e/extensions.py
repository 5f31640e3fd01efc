"""Extensions: verbs in programs of their own, the help that lists them, completion in shells, and what
core does without them."""

import os
import pathlib
import re
import shutil
import subprocess

import program

SOURCES = pathlib.Path(__file__).resolve().parents[2]
LISTS = sorted((SOURCES / "extensions").glob("*/extension.txt"))
SERVER_LIBRARIES = ("libpq", "libmariadb", "libnats", "krb5", "ldap")
SERVER = "postgresql://nobody@127.0.0.1:1/none"
SHELLS = {"bash": "attune.bash", "zsh": "attune.zsh", "fish": "attune.fish"}


def verbs_of(path):
    """Returns {verb: description} of a list."""
    lines = path.read_text().splitlines()[1:]
    return dict(re.split(r"  +", line, maxsplit=1) for line in lines)


def listed(help_text, title):
    """Returns the first words of the lines below a title of --help."""
    section = re.search(rf"\n{title}.*:\n((?:  .*\n)*)", help_text)
    program.check(section, help_text)
    return re.findall(r"^  (\w[\w-]*)", section[1], re.MULTILINE)


def core_links_no_server(attune):
    linked = subprocess.run(["ldd", attune.binary], capture_output=True, text=True, check=True).stdout
    program.check(not [name for name in SERVER_LIBRARIES if name in linked], linked)


def help_lists_a_dozen_verbs_and_each_extension(attune):
    text = attune.run("--help")[0]
    core = listed(text, "Subcommands")
    program.check(10 <= len(core) <= 12, core)
    program.check(listed(text, "Extensions") == [path.parent.name for path in LISTS], text)
    for path in LISTS:
        for verb in verbs_of(path):
            program.check(verb in text and verb not in core, f"{verb}: {text}")


def each_list_says_what_its_program_does(attune):
    for path in LISTS:
        verbs = verbs_of(path)
        for verb, description in verbs.items():
            said = attune.run(verb, "--help")[0].splitlines()[0]
            program.check(said == description, f"{verb}: {said!r}, and the list says {description!r}")
        own = subprocess.run([attune.binary.parent / f"attune-{path.parent.name}", "--help"],
                             capture_output=True, text=True, check=True).stdout
        core = listed(attune.run("--help")[0], "Subcommands")
        known = {verb for verb in listed(own, "Subcommands") if verb not in core}
        program.check(known == set(verbs), f"{path}: {known}")


def an_unknown_verb_is_told_all_verbs(attune):
    for words in (("tuen",), ("--db", "x.db", "tuen"), ("evaluator",), ("../attune-jobs",)):
        err = attune.run(*words, status=2)[1]
        program.check("There is no verb" in err and "tune" in err and "jobs" in err, err)


def core_with_a_server_is_the_fleet(attune):
    linked = subprocess.run(["ldd", attune.binary.parent / "attune-fleet"], capture_output=True, text=True, check=True)
    if "libpq" not in linked.stdout:
        print("skipped: attune-fleet was built without databases on servers")
        return
    for words, settings in ((("best", "--tag", "x", "--db", SERVER), {}),
                            (("--db=" + SERVER, "best", "--tag", "x"), {}),
                            (("best", "--tag", "x"), {"ATTUNE_DB": SERVER})):
        err = attune.run(*words, status=1, **settings)[1]
        program.check("127.0.0.1" in err and "extension" not in err, err)


def core_does_without_a_server_what_needs_none(attune):
    """The fleet is not needed for help, completion and verbs that open another database."""
    folder = installation(attune, "no_server")
    attune.write_problems(1)
    for words, status in ((("best", "--help"), 0), (("--help",), 0), (("--complete", "be"), 0), (("devices",), 0),
                          (("import", "list.txt", "--tag", "x", "--db", "local.db"), 0), (("tuen",), 2)):
        done = run_in(folder, *words, attune=attune, ATTUNE_DB=SERVER)
        program.check(done.returncode == status and "fleet" not in done.stderr, done)


def the_name_of_an_internal_program_in_bin_is_not_taken(attune):
    folder = installation(attune, "wrapped")
    (folder / "share/attune/extensions/greetings.txt").write_text("Greetings\nhello  Greet\n")
    for place, text in (("bin", f'#!/bin/sh\nexec {folder}/bin/attune hello "$@"\n'),
                        ("libexec/attune", "#!/bin/sh\necho greeted\n")):
        (folder / place / "attune-hello").write_text(text)
        (folder / place / "attune-hello").chmod(0o755)
    program.check(run_in(folder, "hello", attune=attune).stdout == "greeted\n", "the program in bin ran")
    (folder / "libexec/attune/attune-hello").unlink()
    (folder / "bin/attune-hello").unlink()
    (folder / "libexec/attune/attune-hello").mkdir()
    missing = run_in(folder, "hello", attune=attune)
    program.check(missing.returncode == 1 and "There is no attune-hello" in missing.stderr, missing)


def installation(attune, name):
    """Makes an installation with core alone."""
    folder = attune.folder / name
    (folder / "bin").mkdir(parents=True)
    (folder / "libexec/attune").mkdir(parents=True)
    (folder / "share/attune/extensions").mkdir(parents=True)
    shutil.copy(attune.binary, folder / "bin/attune")
    return folder


def run_in(folder, *words, attune, **settings):
    return subprocess.run([folder / "bin/attune", *words], capture_output=True, text=True, cwd=attune.folder,
                          env={**attune.environment, **settings}, timeout=program.TIMEOUT_S, check=False)


def core_works_alone(attune):
    folder = installation(attune, "alone")
    shown = run_in(folder, "--help", attune=attune)
    program.check(shown.returncode == 0 and "Extensions" not in shown.stdout, shown)
    missing = run_in(folder, "jobs", attune=attune)
    program.check(missing.returncode == 2 and "There is no verb 'jobs'" in missing.stderr
                  and "No extension is installed" in missing.stderr, missing)
    server = run_in(folder, "best", "--tag", "x", "--db", SERVER, attune=attune)
    program.check(server.returncode == 1 and "extension 'fleet'" in server.stderr, server)


def an_extension_is_a_list_and_a_program(attune):
    folder = installation(attune, "more")
    extensions = folder / "share/attune/extensions"
    (extensions / "greetings.txt").write_text("Greetings\nhello  Greet\n")
    (extensions / "damaged.txt").write_text("Damaged\nno gap\n")
    (extensions / "hostile.txt").write_text("Hostile\n../../../bin/sh  Escape\n")
    (extensions / "empty.txt").write_text("Nothing\n")
    missing = run_in(folder, "hello", attune=attune)
    program.check(missing.returncode == 1 and "libexec/attune/attune-hello" in missing.stderr, missing)
    greeter = folder / "libexec/attune/attune-hello"
    greeter.write_text('#!/bin/sh\nprintf "<%s>" "$@"; exit 7\n')
    greeter.chmod(0o755)
    greeted = run_in(folder, "--db", "x y", "hello", "a b", "--", "", attune=attune)
    program.check((greeted.returncode, greeted.stdout) == (7, "<--db><x y><hello><a b><--><>"), greeted)
    for verb in ("no", "../../../bin/sh"):
        refused = run_in(folder, verb, attune=attune)
        program.check(refused.returncode == 1 and "damaged.txt: line 2" in refused.stderr, refused)
    shown = run_in(folder, "--help", attune=attune).stdout
    for name in ("damaged", "hostile"):
        program.check(f"Cannot be used: {extensions / name}.txt: line 2" in shown, shown)
    program.check("empty.txt has no verbs" in shown, shown)
    # Nothing of the current folder runs.
    (attune.folder / "attune-jobs").write_text("#!/bin/sh\necho decoy\n")
    (attune.folder / "attune-jobs").chmod(0o755)
    program.check("decoy" not in run_in(folder, "jobs", attune=attune).stdout, "a decoy ran")


def completed(attune, *words):
    return [line.split("\t")[0] for line in attune.run("--complete", *words)[0].splitlines()]


def words_are_completed(attune):
    program.check({"tune", "jobs", "seer"} <= set(completed(attune, "")), completed(attune, ""))
    program.check(completed(attune, "tun") == ["tune", "tunable"], completed(attune, "tun"))
    program.check(completed(attune, "jobs") == ["jobs"], completed(attune, "jobs"))
    program.check("load" in completed(attune, "jobs", ""), completed(attune, "jobs", ""))
    program.check("--budget" in completed(attune, "tune", "--bud"), completed(attune, "tune", "--bud"))
    program.check("--db" in completed(attune, "jobs", "load", "--d"), completed(attune, "jobs", "load", "--d"))
    program.check(completed(attune, "--db", "tune", "imp") == ["import"], completed(attune, "--db", "tune", "imp"))
    for files in (("tune", "--db", ""), ("import", "x"), ("blas", "--", "pyth")):
        program.check(completed(attune, *files) == [], files)


def in_bash(script):
    # As readline splits `attune --db=a:b jobs lo`.
    return ["bash", "--norc", "-c", f"source {script}; COMP_WORDS=(attune --db = a : b jobs lo); COMP_CWORD=7; _attune; "
            'printf "%s\\n" "${COMPREPLY[@]}"']


def in_fish(script):
    return ["fish", "--no-config", "-c", f"source {script}; complete -C 'attune jobs lo'"]


def in_zsh(script):
    # Outside of its line editor, zsh completes nothing: what the script hands over is printed.
    return ["zsh", "-f", "-c", f"words=(attune jobs lo); CURRENT=3; _describe() {{ print -l $found }}; "
            f"_files() {{ print files }}; source {script}"]


def shells_complete(attune):
    path = f"{attune.binary.parent}{os.pathsep}{os.environ['PATH']}"
    for shell, command in (("bash", in_bash), ("zsh", in_zsh), ("fish", in_fish)):
        if shutil.which(shell) is None:
            print(f"skipped: {shell} is not installed")
            continue
        script = SOURCES / "apps/attune/shell" / SHELLS[shell]
        found = subprocess.run(command(script), capture_output=True, text=True, timeout=program.TIMEOUT_S,
                               env={**attune.environment, "PATH": path}, check=False)
        words = [re.split(r"[:\t]", line)[0] for line in found.stdout.splitlines()]
        program.check(words == ["load"], f"{shell}: {found}")


def test(attune):
    for case in (core_links_no_server, help_lists_a_dozen_verbs_and_each_extension,
                 each_list_says_what_its_program_does, an_unknown_verb_is_told_all_verbs,
                 core_with_a_server_is_the_fleet, core_does_without_a_server_what_needs_none,
                 the_name_of_an_internal_program_in_bin_is_not_taken, core_works_alone, an_extension_is_a_list_and_a_program,
                 words_are_completed, shells_complete):
        case(attune)
        print(f"{case.__name__}: passed", flush=True)


program.main(test)
