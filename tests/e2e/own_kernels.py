"""Kernels that users bring: tuned from a file, answered for, resumed, refused with file and line. On
the first OpenCL device."""

import json
import shutil
import subprocess
import time

import program

# Spaces of a dozen configs are tried whole, which takes less on an idle machine.
WHOLE = ("--budget", "110s", "--per-problem", "60s")
SHORT = ("--budget", "60s", "--per-problem", "8s")


def tune(attune, *words):
    return attune.run("tune", *words, *WHOLE)


def failures_of(evidence):
    """{FAULT: the kinds of its failures} of every trial."""
    kinds = {}
    for recorded in evidence["sets"]:
        for trial in recorded["trials"]:
            config = trial["candidate"].split("{")[1].rstrip("}")
            fault = dict(word.split("=") for word in config.split(","))["FAULT"]
            if "failure" in trial:
                kinds.setdefault(fault, set()).add(trial["failure"]["kind"])
    return kinds


def test_faults_and_two_outputs(attune, folder):
    """A program is the reference; of five kinds of configs one is right."""
    kernel = ("--kernel", str(folder / "axpy.json"), "--size", "n=1000")
    out, _ = tune(attune, *kernel)
    program.check("axpy n=1000" in out, out)
    evidence = attune.json("explain", *kernel)
    winner = attune.json("best", *kernel)[0]["candidate"]
    program.check("FAULT=0" in winner, winner)
    kinds = failures_of(evidence)
    program.check("0" not in kinds, f"the right one failed: {kinds}")
    program.check(kinds["1"] == {"build_failed"}, kinds)
    program.check(kinds["2"] == {"wrong_result"}, kinds)
    program.check(kinds["3"] <= {"out_of_bounds", "crashed"}, kinds)
    program.check(kinds["4"] <= {"crashed", "run_failed"}, kinds)
    check_timeline(attune, kernel, evidence)
    # The same command resumes, and has nothing left to do.
    again, _ = tune(attune, *kernel)
    program.check("0 tuned, 1 tuned before" in again, again)
    attune.run("report", *kernel, "-o", "report.html")
    program.check("axpy n=1000" in (attune.folder / "report.html").read_text(), "report.html")
    exported = json.loads(attune.run("export", *kernel, "--format", "json", "-o", "-")[0])
    program.check(winner in json.dumps(exported), exported)


def check_timeline(attune, kernel, evidence):
    """Where the time went, in a table, as JSON and as a trace; and the report draws it."""
    out, _ = attune.run("explain", *kernel, "--timeline", "--trace", "trace.json")
    program.check("steps are summed over" in out and "search" in out, out)
    timeline = attune.json("explain", *kernel, "--timeline")["timelines"][-1]
    stages = [cost["stage"] for cost in timeline["costs"]]
    program.check({"search", "final"} <= set(stages), stages)
    wall_ns = sum(cost["wall_ns"] for cost in timeline["costs"])
    verified = {step["candidate"] for step in timeline["steps"] if step["step"] == "verify"}
    tried = {trial["candidate"] for recorded in evidence["sets"] for trial in recorded["trials"]}
    program.check(verified and verified <= tried, f"{verified - tried} were not tried")
    for step in timeline["steps"]:
        program.check(0 <= step["begin_us"] <= wall_ns / 1e3, step)
    events = json.loads((attune.folder / "trace.json").read_text())["traceEvents"]
    complete = [event for event in events if event["ph"] == "X"]
    program.check(len(complete) == len(timeline["steps"]) + len(timeline["stages"]), len(complete))
    attune.run("report", *kernel, "-o", "report.html")
    page = (attune.folder / "report.html").read_text()
    program.check("Where the time went" in page, "the report has no timeline")


def test_edited_kernel_is_another_problem(attune, folder):
    kernel = ("--kernel", str(folder / "axpy.json"), "--size", "n=1000")
    source = folder / "axpy.cl"
    source.write_text(source.read_text() + "// edited\n")
    best = attune.json("best", *kernel)[0]
    program.check(best["provenance"] == "untuned", best)


def test_mistakes(attune, folder):
    text = (folder / "axpy.json").read_text()

    def refused(what, old, new, *sizes):
        broken = folder / "broken.json"
        program.check(old in text, old)
        broken.write_text(text.replace(old, new))
        size = [word for given in sizes for word in ("--size", given)]
        err = attune.run("tune", "--kernel", str(broken), *size, status=2)[1]
        program.check("broken.json" in err and what in err, f"{what!r} is not in {err!r}")

    refused(":17:19: /constraints/0: 'FAULTS", "FAULT == 0 or", "FAULTS == 0 or", "n=4")
    refused(":11:48: /operands/3/shape/0", '["n / 2"]', '["n / (n - n)"]', "n=4")
    refused("'u8'", '"i32"', '"u8"', "n=4")
    refused("line 3", '"name": "axpy",', '"name" "axpy",', "n=4")
    refused("'n'", "axpy", "axpy")
    refused("no size 'm'", "axpy", "axpy", "n=4,m=3")
    refused("It is 0", "axpy", "axpy", "n=1")
    refused("tune: --size: ", "axpy", "axpy", "n=1")
    broken = folder / "broken.json"
    broken.write_text(text.replace("FAULT == 0 or", "n < 0 and"))
    err = attune.run("tune", "--kernel", str(broken), "--size", "n=4", status=2)[1]
    program.check("Kernel axpy" in err and "/constraints/0: No config is valid" in err, err)
    err = attune.run("tune", "--kernel", str(folder / "axpy.json"), "--size", "n=4",
                     "--device", "cpu", status=1)[1]
    program.check("Device 'cpu' has no kernel 'axpy'" in err, err)
    err = attune.run("tune", "--kernel", "nowhere.json", status=1)[1]
    program.check("nowhere.json" in err, err)
    # A reference that fails ends the problem and says why.
    (folder / "axpy_reference.py").write_text("import sys; sys.exit('no data today')\n")
    err = attune.run("tune", "--kernel", str(folder / "axpy.json"), "--size", "n=8", *WHOLE,
                     status=1)[1]
    program.check("no data today" in err, err)
    nowhere = json.loads(text)
    for program_word, why in (("reference.py", "no folder of PATH"), ("./axpy.json", "executable")):
        nowhere["reference"] = {"program": [program_word]}
        broken.write_text(json.dumps(nowhere))
        err = attune.run("tune", "--kernel", str(broken), "--size", "n=8", *WHOLE, status=1)[1]
        program.check(why in err, err)
    # Only the end of long output counts; a result that is too long is not missing.
    def reference(code):
        (folder / "axpy_reference.py").write_text("import pathlib, sys\n" + code)
        return attune.run("tune", "--kernel", str(folder / "axpy.json"), "--size", "n=8", *WHOLE,
                          status=1)[1]

    err = reference("sys.exit('\\n'.join(['so far so good'] * 99 + ['table is empty']))\n")
    program.check("table is empty" in err, err)
    err = reference("for name in 'y', 'pairs':\n"
                    "  (pathlib.Path(sys.argv[1]) / (name + '.out')).write_bytes(b'0' * 999)\n")
    program.check("has to write 64 bytes into y.out" in err and "wrote 999" in err, err)


HEADER_USER = """
#include <stdio.h>
#include "stencil.h"
int main(void) {
  const char* device = attune_stencil_choices[0].device;
  const struct attune_stencil_choice* near = attune_stencil_choose(device, 3900);
  if (near == 0 || near->ProblemSize_0 != 4000) return 1;
  if (attune_stencil_choose("another device", 4000) != 0) return 2;
  printf("%lld %lld %s", near->block_size_x, near->launches[0].local[0], near->defines);
  return near->time_ns > 0 ? 0 : 3;
}
"""


def test_t1_wisdom_and_t4(attune):
    """A description in T1 is tuned as it is; its results leave as wisdom, T4 and a space."""
    kernel = ("--kernel", str(attune.data / "t1" / "stencil.json"))
    tune(attune, *kernel)
    tune(attune, *kernel, "--size", "ProblemSize_0=1000")
    best = attune.json("best", *kernel)[0]["candidate"]
    attune.run("export", *kernel, "--wisdom", "-o", "stencil_wisdom.json")
    wisdom = json.loads((attune.folder / "stencil_wisdom.json").read_text())
    sizes = {choice["sizes"]["ProblemSize_0"]: choice for choice in wisdom["choices"]}
    program.check(sorted(sizes) == [1000, 4000], wisdom)
    program.check(f"block_size_x={sizes[4000]['config']['block_size_x']}," in best, best)
    # The reference's config, tuned by name, is no wisdom about the kernel.
    reference = best.split("@")[0].replace("opencl.", "") + ".reference"
    attune.run("tune", *kernel, "--solver", reference, "--retune", *SHORT)
    attune.run("export", *kernel, "--wisdom", "-o", "again.json")
    again = json.loads((attune.folder / "again.json").read_text())["choices"]
    program.check(sorted(choice["sizes"]["ProblemSize_0"] for choice in again) == [1000, 4000], again)
    program.check(all(choice["config"].keys() == {"block_size_x", "tile"} for choice in again), again)
    sizes = {choice["sizes"]["ProblemSize_0"]: choice for choice in again}
    attune.run("export", *kernel, "--wisdom", "-o", "stencil.h")
    (attune.folder / "user.c").write_text(HEADER_USER)
    for compiler in ("cc -std=c99", "c++ -x c++ -std=c++11"):
        subprocess.run([*compiler.split(), "-Wall", "-Wextra", "-Werror", "user.c", "-o", "user",
                        "-lm"], cwd=attune.folder, check=True)
        said = subprocess.run(["./user"], cwd=attune.folder, check=True, capture_output=True,
                              text=True).stdout
        block = sizes[4000]["config"]["block_size_x"]
        program.check(said.startswith(f"{block} {block} #define"), said)
    attune.run("export", *kernel, "--size", "ProblemSize_0=4000", "--format", "t4", "-o", "t4.json")
    results = json.loads((attune.folder / "t4.json").read_text())["results"]
    # Candidates that were too slow at first sight are not timed.
    program.check(1 <= len(results) <= 10 and all(r["invalidity"] == "correct" for r in results),
                  results)
    block = sizes[4000]["config"]["block_size_x"]
    program.check(any(r["configuration"]["block_size_x"] == block for r in results), results)
    program.check(all(r["times"]["validation"] > 0 for r in results), results)
    (attune.folder / "own.json").write_text((attune.data / "t1" / "stencil.json").read_text())
    for source in (attune.data / "t1").glob("*.c*"):
        shutil.copy(source, attune.folder)
        err = attune.run("export", "--kernel", "own.json", "--wisdom", "-o", source.name, status=2)[1]
        program.check("would be replaced" in err, err)
    err = attune.run("export", "--kernel", "own.json", "--wisdom", "-o", "own.json", status=2)[1]
    program.check("would be replaced" in err, err)
    attune.run("export", "--results", "t4.json", "--format", "space", "-o", "space.csv")
    attune.run("replay", "--space", "space.csv", "--search", "random", "--repeats", "2")
    err = attune.run("export", "--results", "t4.json", *kernel, "--format", "space", "-o", "-",
                     status=2)[1]
    program.check("--results stands alone" in err, err)
    err = attune.run("export", "--results", "space.csv", "--format", "t4", "-o", "-", status=2)[1]
    program.check("space.csv" in err and "not JSON" in err, err)
    document = json.loads((attune.data / "t1" / "stencil.json").read_text())
    document["KernelSpecification"]["Arguments"][1]["MemType"] = "Constant"
    (attune.folder / "constant.json").write_text(json.dumps(document, indent=1))
    err = attune.run("tune", "--kernel", "constant.json", status=2)[1]
    program.check("constant.json:" in err and "MemType" in err, err)


def order_of_trials(evidence):
    """Configs as {NAME: VALUE} in the order in which they were tried first."""
    order = []
    for recorded in evidence["sets"]:
        for trial in recorded["trials"]:
            config = trial["candidate"].split("{")[1].rstrip("}")
            named = dict(word.split("=") for word in config.split(","))
            if named not in order:
                order.append(named)
    return order


def t4_of(times_ms):
    """Results in T4 of {(A, B): ms}."""
    results = [{"configuration": {"A": a, "B": b}, "invalidity": "correct",
                "measurements": [{"name": "time", "value": ms, "unit": "ms"}]}
               for (a, b), ms in times_ms.items()]
    return json.dumps({"schema_version": "1.0.0", "results": results,
                       "metadata": {"timeunit": "milliseconds"}})


def test_priors(attune, folder):
    """A random search begins at records of others over 600 configs."""
    best = {"A": "37", "B": "6"}
    kernel = ("--kernel", str(folder / "dial.json"), "--size")
    search = ("--search", "random", "--seed", "1", "--budget", "60s", "--per-problem", "4s")
    handful = 5  # The default and three guesses are in it.
    attune.run("tune", *kernel, "n=3000", "--db", "alone.db", *search)
    alone = order_of_trials(attune.json("explain", *kernel, "n=3000", "--db", "alone.db"))
    program.check(best not in alone[:2 * handful], alone)

    (attune.folder / "other.json").write_text(t4_of({(0, 0): 9, (37, 6): 1, (50, 9): 4}))
    attune.run("tune", *kernel, "n=4000", "--db", "t4.db", "--prior", "other.json", *search)
    tried = order_of_trials(attune.json("explain", *kernel, "n=4000", "--db", "t4.db"))
    program.check(best in tried[:handful], tried)
    winner = attune.json("best", *kernel, "n=4000", "--db", "t4.db")[0]["candidate"]
    program.check("A=37,B=6" in winner, winner)

    # A database, of another size.
    attune.run("tune", *kernel, "n=3000", "--db", "new.db", "--prior", "t4.db", *search)
    tried = order_of_trials(attune.json("explain", *kernel, "n=3000", "--db", "new.db"))
    program.check(best in tried[:handful], tried)


def test_priors_of_something_else_are_refused(attune, folder):
    kernel = ("--kernel", str(folder / "dial.json"), "--size", "n=3000")

    def refused(what, *words, status=2):
        err = attune.run("tune", *words, status=status)[1]
        program.check(what in err, f"{what!r} is not in {err!r}")

    other = (attune.folder / "other.json").read_text()
    (attune.folder / "renamed.json").write_text(other.replace('"B"', '"C"'))
    (attune.folder / "broken.json").write_text(other[:40])
    attune.write_problems(1, "list.txt")
    attune.run("import", "list.txt", "--tag", "products", "--db", "products.db")
    (attune.folder / "empty.json").write_text(t4_of({}))
    refused("--prior renamed.json: its results have other parameters: they lack B, which the "
            "kernel has, and have C, which the kernel has not.", *kernel, "--prior", "renamed.json")
    refused("--prior empty.json: there are no results in it.", *kernel, "--prior", "empty.json")
    refused("--prior products.db holds nothing of kernel dial", *kernel, "--prior", "other.json",
            "--prior", "products.db")
    refused("--prior broken.json: ", *kernel, "--prior", "broken.json")
    refused("nowhere.db", *kernel, "--prior", "nowhere.db", status=1)
    refused("--search exhaustive", *kernel, "--prior", "other.json", "--search", "exhaustive")
    refused("of a kernel that --kernel names", "--problem", "gemm@1{m=8,n=8,k=8}", "--prior",
            "other.json")


EXAMPLES = {"matmul": "m=67,n=65,k=33",
            "convolution": "channels=3,height=21,width=19,filters=5,extent=3",
            "nbody": "bodies=333",
            "stencil": "depth=7,height=33,width=35"}


def test_compiled_for_a_gpu_that_is_not_here(attune):
    for name, size in EXAMPLES.items():
        kernel = ("--kernel", str(attune.data.parent.parent / f"examples/own_kernel/{name}.json"),
                  "--size", size)
        process = attune.start("build", *kernel, "--target", "sm_90", "--json")
        out, err = process.communicate(timeout=program.TIMEOUT_S)
        if process.returncode == 1 and "NVRTC" in err.upper():
            print(f"skipped, without NVRTC: {err}")
            return
        program.check(process.returncode == 0, out + err)
        rows = json.loads(out)["builds"]
        program.check(any(row["solver"] == f"cuda.{name}" and row["state"] in ("built", "kept")
                          for row in rows), rows)


def test_examples_are_right(attune):
    """Sampled configs of every example compute what its plain kernel computes, at odd sizes."""
    for name, size in EXAMPLES.items():
        path = attune.data.parent.parent / f"examples/own_kernel/{name}.json"
        process = attune.start("tune", "--kernel", str(path), "--size", size, "--device", "opencl:0",
                               "--candidates", "12", "--search", "random", "--per-problem", "20s",
                               "--max-iterations", "3", "--json")
        out, err = process.communicate(timeout=program.TIMEOUT_S)
        program.check(process.returncode == 0, out + err)
        problem = json.loads(out)["problems"][0]
        program.check(problem["failures"] == {} and problem["qualified"] >= 12, problem)


def test_example(attune):
    """The example in C++: what it tuned serves that size, a near one, and that one again."""
    example = attune.binary.parent / "serve_matmul"
    if not example.exists():
        print("skipped: serve_matmul is not built")
        return
    path = attune.data.parent.parent / "examples" / "own_kernel" / "matmul.json"
    done = subprocess.run([example, path, "example.db", "opencl:0"], cwd=attune.folder,
                          env=attune.environment, capture_output=True, text=True, check=False)
    program.check(done.returncode == 0, done.stdout + done.stderr)
    lines = [line for line in done.stdout.splitlines() if line.startswith("m=")]
    program.check([line.split(": ")[1].split(",")[0] for line in lines]
                  == ["exact", "nearest", "exact"], done.stdout)
    program.check(all(line.endswith("c[last] = 64") for line in lines), done.stdout)


def test_resumed_after_a_kill(attune):
    kernel = ("--kernel", str(attune.data.parent.parent / "examples/own_kernel/matmul.json"),
              "--size", "m=64,n=64,k=64")
    process = attune.start("tune", *kernel, *SHORT)
    time.sleep(3)
    process.kill()
    process.communicate()
    attune.run("tune", *kernel, *SHORT)
    best = attune.json("best", *kernel)[0]
    program.check(best["provenance"] in ("measured", "default"), best)


def test(attune):
    program.require_device(attune, "opencl:0")
    folder = attune.folder / "own"
    shutil.copytree(attune.data / "own_kernel", folder)
    test_faults_and_two_outputs(attune, folder)
    test_edited_kernel_is_another_problem(attune, folder)
    test_mistakes(attune, folder)
    test_t1_wisdom_and_t4(attune)
    test_priors(attune, folder)
    test_priors_of_something_else_are_refused(attune, folder)
    test_example(attune)
    test_compiled_for_a_gpu_that_is_not_here(attune)
    test_examples_are_right(attune)
    test_resumed_after_a_kill(attune)


program.main(test)
