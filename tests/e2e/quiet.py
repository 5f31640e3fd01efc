"""Compiler warnings go to the log and not to the terminal. `attune devices` lists kernel files only
with --kernels."""

import re
import subprocess

import program

PROBLEM = "gemm@1{m=24,n=24,k=24}"
DEVICE = ("--device", "opencl:0")
WARNING = "this kernel is noisy"
COUNTED = "warning"  # "1 warning generated.", as PoCL's clang prints.
# Each run compiles: it gets empty caches of PoCL and attune.
RUNS = iter(range(100))


def noisy(attune):
    folder = attune.folder / f"caches{next(RUNS)}"
    folder.mkdir()
    return {"ATTUNE_KERNEL_PATH": str(attune.data / "noisy_kernel"),
            "POCL_CACHE_DIR": str(folder), "XDG_CACHE_HOME": str(folder)}


def check_quiet(text):
    program.check(WARNING not in text and COUNTED not in text, text)


def take(path):
    text = path.read_text()
    path.unlink()
    return text


def open_session(attune, name):
    database = ("--db", f"{name}.db")
    (attune.folder / "problems.txt").write_text(PROBLEM + "\n")
    settings = noisy(attune)
    attune.run("import", "problems.txt", "--tag", "all", *database, **settings)
    attune.run("session", "new", name, *DEVICE, *database, **settings)
    attune.run("jobs", "load", "--session", name, "--tag", "all", "--solvers",
               "opencl.noisy-gemm", "--steps", "perf:compile", *database, **settings)
    return database


def a_compiling_worker_writes_warnings_to_its_log_only(attune):
    database = open_session(attune, "quiet")
    work = ("worker", "--compile", "2", "--until-done", *database)
    err = attune.run(*work, **noisy(attune))[1]
    check_quiet(err)
    program.check("begins: compile x2" in err, err)

    database = open_session(attune, "logged")
    log = attune.folder / "worker.log"
    work = ("worker", "--compile", "2", "--until-done", *database)
    err = attune.run(*work, "--log", log.name, **noisy(attune))[1]
    program.check(err == "", err)
    text = take(log)
    program.check(WARNING in text and "begins: compile x2" in text, text)
    program.check("opencl.noisy-gemm@1" in text, text)


def a_compiling_session_writes_warnings_to_its_log_only(attune):
    database = open_session(attune, "may")
    step = ("tune", "--session", "may", "--step", "perf:compile", *database)
    out, err = attune.run(*step, **noisy(attune))
    check_quiet(out + err)

    database = open_session(attune, "june")
    step = ("tune", "--session", "june", "--step", "perf:compile", *database)
    log = attune.folder / "tune.log"
    out, err = attune.run(*step, "--log", log.name, **noisy(attune))
    check_quiet(out + err)
    program.check(WARNING in take(log), "The log has no warning.")


def output_of_children_goes_to_the_log_of_tune(attune):
    tune = ("tune", "--problem", PROBLEM, *DEVICE, "--solver", "noisy", "--per-problem", "3s")
    log = attune.folder / "tune.log"
    out, err = attune.run(*tune, "--db", "children.db", "--log", log.name, **noisy(attune))
    check_quiet(out + err)
    program.check(WARNING in take(log), "The log has no warning.")


def compiler_errors_are_reported(attune):
    folder = attune.folder / "broken"
    folder.mkdir()
    for name in ("noisy.json", "noisy.cl"):
        text = (attune.data / "noisy_kernel" / name).read_text()
        (folder / name).write_text(text.replace("float sum", "flaot sum"))
    settings = {**noisy(attune), "ATTUNE_KERNEL_PATH": str(folder)}
    out = attune.run("run", PROBLEM, *DEVICE, "--candidate", "opencl.noisy-gemm@1{WG=16}", status=1,
                     **settings)
    program.check("flaot" in "".join(out), out)


def tune_rejects_an_unwritable_log(attune):
    err = attune.run("tune", "--problem", PROBLEM, "--device", "cpu", "--log", "/nowhere/log",
                     status=1)[1]
    program.check("cannot write the log '/nowhere/log': No such file or directory" in err, err)


def a_served_program_prints_no_warning(attune):
    caller = attune.binary.parent / "attune_opencl_caller"
    settings = {**attune.environment, **noisy(attune), "ATTUNE_FORCE": "opencl.noisy-gemm",
                "ATTUNE_POLICY": "never"}
    done = subprocess.run([str(caller), "wait", "gemm"], cwd=attune.folder, env=settings,
                          capture_output=True, text=True, timeout=program.TIMEOUT_S, check=False)
    program.check(done.returncode == 0 and done.stderr == "", (done.returncode, done.stderr))


def devices_lists_kernels_on_request(attune):
    settings = {"ATTUNE_KERNEL_PATH": str(attune.data / "noisy_kernel")}
    short = attune.run("devices", **settings)[0]
    program.check("noisy" not in short and "conv_direct" not in short, short)
    program.check(re.search(r"^\d+ kernels \(\d+ \w+.*\): --kernels lists them$", short, re.M), short)
    program.check("noisy" in attune.run("devices", "--kernels", **settings)[0], "It is not listed.")
    names = {library["name"] for backend in attune.json("devices", **settings)["backends"]
             for library in backend["libraries"]}
    program.check("kernel noisy" in names, names)
    # A damaged file is always listed.
    (attune.folder / "damaged.json").write_text("{")
    damaged = {"ATTUNE_KERNEL_PATH": str(attune.folder / "damaged.json")}
    program.check("kernel damaged" in attune.run("devices", **damaged)[0], "It is not shown.")


def test(attune):
    attune.environment["ATTUNE_PLUGINS"] = "opencl"
    tune_rejects_an_unwritable_log(attune)
    program.require_device(attune, "opencl:0")
    for case in (devices_lists_kernels_on_request,
                 a_compiling_worker_writes_warnings_to_its_log_only,
                 a_compiling_session_writes_warnings_to_its_log_only,
                 output_of_children_goes_to_the_log_of_tune, compiler_errors_are_reported,
                 a_served_program_prints_no_warning):
        case(attune)
        print(f"{case.__name__}: passed", flush=True)


program.main(test)
