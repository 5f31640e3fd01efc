"""A session for an architecture that is not here, whose compiler dies of a signal: no job is done by
that, what waits for it is cancelled with the cause, and the same jobs are done by a sound compiler. A
script stands in for hipcc."""

import pathlib

import program

DB = ("--db", "away.db")
SESSION = ("--session", "away")
PROBLEMS = ("gemm@1{m=64,n=64,k=64}", "gemm@1{m=96,n=96,k=96,ta=t}",
            "conv@1{dir=fwd,n=1,c=8,h=8,w=8,k=8,fh=1,fw=1}")
SOUND = 'cat kernel.hip > kernel.co; echo "$@" >> kernel.co'
# It has written all of its code by then.
CRASH = f"{SOUND}; echo 'Stack dump: no frames' >&2; kill -SEGV $$"
STEPS = ("perf:compile", "perf:measure")


def write_compiler(attune, body):
    path = attune.folder / "hipcc"
    path.write_text("#!/bin/sh\n"
                    'if [ "$1" = --version ]; then echo "HIP version: 9.8.7-6"; exit; fi\n'
                    f"{body}\n")
    path.chmod(0o755)
    attune.environment["ATTUNE_HIPCC"] = str(path)


def jobs(attune):
    """{(problem, solver): {step: job}}."""
    found = {}
    for job in attune.json("jobs", "list", *SESSION, *DB):
        found.setdefault((job["problem"], job["solver"]), {})[job["step"]] = job
    return found


def kernels(attune):
    return list((attune.folder / "cache").rglob("*.kernel"))


def compile_all(attune, status):
    return attune.json("tune", *SESSION, "--step", "perf:compile", *DB, status=status)


def loaded(attune):
    """Everything until the compiler is called needs no device."""
    write_compiler(attune, CRASH)
    attune.run("session", "new", "away", "--target", "gfx90a", *DB)
    (attune.folder / "list.txt").write_text("".join(f"{problem}\n" for problem in PROBLEMS))
    attune.run("import", "list.txt", "--tag", "t", *SESSION, *DB)
    survey = attune.json("applicability", *SESSION, *DB)
    pairs = sum(len(each["solvers"]) for each in survey["problems"])
    program.check(len(survey["problems"]) == len(PROBLEMS) and pairs > len(PROBLEMS), survey)
    added = attune.json("jobs", "load", *SESSION, "--tag", "t", "--steps", ",".join(STEPS), *DB)
    program.check(added["added"] == 2 * pairs, added)
    return pairs


def check_crashed(found):
    compiled, measured = found["perf:compile"], found["perf:measure"]
    program.check(compiled["state"] == "failed" and compiled["error_class"] == "build_failed" and
                  "was killed by signal 11 (Segmentation fault)" in compiled["error"] and
                  "Stack dump: no frames" in compiled["error"], compiled)
    program.check(measured["state"] == "cancelled" and measured["error_class"] == "compile" and
                  not measured["ready"] and measured["attempts"] == 0, measured)
    program.check(f"Job {compiled['id']}, which compiles it, is failed" in measured["error"] and
                  "signal 11" in measured["error"], measured)


def every_crash_fails_its_jobs(attune):
    pairs = loaded(attune)
    done = compile_all(attune, status=1)
    program.check(done["done"] == 0 and done["failed"] == pairs and done["left"] == 0 and
                  done["failures"] == {"build_failed": pairs}, done)
    found = jobs(attune)
    program.check(len(found) == pairs, found)
    for each in found.values():
        check_crashed(each)
    status = attune.json("status", *SESSION, *DB, status=3)
    program.check(status["steps"]["perf:compile"]["failed"] == pairs and
                  status["steps"]["perf:compile"]["done"] == 0 and
                  status["steps"]["perf:measure"]["cancelled"] == pairs, status)
    program.check(not kernels(attune), "Code of a compiler that crashed is kept.")
    return pairs


def a_crash_of_some_is_theirs_alone(attune, pairs):
    """The compiler falls over the kernels of two solvers."""
    write_compiler(attune, f"if grep -q 'void conv_direct' kernel.hip; then {CRASH}; fi; {SOUND}")
    attune.run("jobs", "retry", *SESSION, *DB)
    done = compile_all(attune, status=3)
    program.check(done["failed"] == 2 and done["done"] == pairs - 2, done)
    for (problem, solver), each in jobs(attune).items():
        if solver in ("hip.conv-direct", "hip.conv-direct-filter"):
            check_crashed(each)
            continue
        program.check(each["perf:compile"]["state"] == "done" and
                      each["perf:measure"]["state"] == "queued" and each["perf:measure"]["ready"],
                      (problem, each))
    # Compiled jobs wait for a device, which must not count as an end.
    attune.run("tune", *SESSION, "--step", "perf:measure", *DB, status=1)


def a_sound_compiler_does_the_same_jobs(attune, pairs):
    write_compiler(attune, SOUND)
    attune.run("jobs", "retry", *SESSION, *DB)
    done = compile_all(attune, status=0)
    program.check(done["failed"] == 0 and done["done"] == 2, done)
    found = jobs(attune)
    program.check(all(each["perf:compile"]["state"] == "done" and
                      each["perf:compile"]["error_class"] == "" and
                      each["perf:measure"]["state"] == "queued" for each in found.values()), found)
    program.check(kernels(attune) and len(found) == pairs, found)


def test(attune):
    plugins = pathlib.Path(attune.environment["ATTUNE_PLUGIN_PATH"])
    if not (plugins / "attune_hip.so").exists():
        program.skip("The HIP backend is not built here.")
    attune.environment["ATTUNE_PLUGINS"] = "hip"
    pairs = every_crash_fails_its_jobs(attune)
    a_crash_of_some_is_theirs_alone(attune, pairs)
    a_sound_compiler_does_the_same_jobs(attune, pairs)


program.main(test)
