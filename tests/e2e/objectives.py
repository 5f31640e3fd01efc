"""Users' kernels tuned by something else than time: a figure that the kernel writes, energy by a counter
that this test makes, and fronts of two. On the first OpenCL device, a processor."""

import json
import pathlib
import shutil

import program
from fake_package import FakePackage
from fronts import TIME, TIMES_TO_BE_WHOLE, config_of, on_front, tune_whole

TERMS = (64, 256, 1024)


def test_front_of_time_and_a_figure(attune, kernel):
    """Each number of terms is on the front, fewest and fastest first; who wastes never is."""
    result = tune_whole(attune, kernel, "time,error")
    program.check(result["measured"] == 6, result)
    front = on_front(result["front"])
    program.check([config_of(point)["TERMS"] for point in front] == list(TERMS), front)
    program.check(all(config_of(point)["WASTE"] == 0 for point in front), front)
    for point, terms in zip(front, TERMS):
        error = point["figures"]["error"]
        program.check(error["value"] == error["low"] == error["high"] == 1 / terms, error)
        program.check(error["samples"] == result["rounds"] >= 3, error)
    best = attune.json("best", *kernel, "--objective", "time,error")[0]["front"]
    program.check(best == result["front"], best)
    again = attune.json("tune", *kernel, "--objective", "time,error", "--per-problem",
                        TIMES_TO_BE_WHOLE[0])["problems"][0]
    program.check(again["state"] == "already_tuned" and again["front"] == best, again)


def test_time_first_is_served(attune, kernel):
    served = attune.json("best", *kernel)[0]
    program.check("TERMS=64,WASTE=0" in served["candidate"], served)
    program.check(served["provenance"] == "measured", served)


def test_a_figure_alone(attune, kernel):
    """Much is sought where the file says so; what is served stays what it was."""
    out, _ = attune.run("tune", *kernel, "--objective", "terms", *TIME)
    lines = out.splitlines()
    program.check(lines[0].startswith("series n=4096"), out)
    program.check("TERMS=1024" in out and "1024 terms" in out, out)
    program.check("TERMS=256,WASTE=0" in out and "default" in out, out)
    front = on_front(attune.json("best", *kernel, "--objective", "terms")[0]["front"])
    program.check(config_of(front[0])["TERMS"] == 1024 and len(front) == 1, front)
    served = attune.json("best", *kernel)[0]
    program.check("TERMS=64,WASTE=0" in served["candidate"], served)


def test_report_draws_the_front(attune, kernel):
    attune.run("report", *kernel, "-o", "report.html")
    page = (attune.folder / "report.html").read_text()
    program.check("Fronts of two objectives" in page, "no front in the report")
    program.check(page.count('class="front') >= len(TERMS) - 1, "no line along the front")


def test_energy(attune, kernel):
    """Joules of a launch are what the counter says: its watts times the time that a launch takes."""
    root = attune.folder / "powercap"
    with FakePackage(root):
        result = tune_whole(attune, kernel, "energy", ATTUNE_POWERCAP=str(root))
    front = on_front(result["front"])
    program.check(config_of(front[0]) == {"TERMS": 64, "WASTE": 0}, front)
    for point in result["front"]["points"]:
        energy = point["figures"]["energy"]
        program.check(0 < energy["low"] <= energy["value"] <= energy["high"], point)
    slow = next(point for point in result["front"]["points"]
                if config_of(point) == {"TERMS": 1024, "WASTE": 1})
    ratio = slow["figures"]["energy"]["value"] / front[0]["figures"]["energy"]["value"]
    program.check(10 < ratio, f"80 times the work took {ratio} times the energy")


def test_what_cannot_be_measured(attune, kernel):
    before = attune.json("explain", *kernel)["sets"]
    err = attune.run("tune", *kernel, "--size", "n=64", "--objective", "energy", *TIME, status=1,
                     ATTUNE_POWERCAP=str(attune.folder / "nothing"))[1]
    program.check("no energy counter" in err and "nothing" in err, err)
    program.check(attune.json("explain", *kernel)["sets"] == before, "a set was begun")


def test_more_candidates_are_measured_again(attune, kernel):
    """A front of fewer candidates than are asked for now is none to keep."""
    sizes = (*kernel, "--size", "n=2048", "--objective", "error", *TIME)
    few = attune.json("tune", *sizes, "--candidates", "1")["problems"][0]
    again = attune.json("tune", *sizes, "--candidates", "1")["problems"][0]
    program.check((few["measured"], again["state"]) == (1, "already_tuned"), (few, again))
    more = attune.json("tune", *sizes)["problems"][0]
    program.check(more["state"] == "tuned" and more["whole_space"], more)


REFERENCE = """
import pathlib, struct, sys
n = int(sys.argv[2].split("=")[1])
if n == 64:
    sys.exit("no data of that size")
folder = pathlib.Path(sys.argv[1])
x = struct.unpack(f"{n}f", (folder / "x.in").read_bytes())
(folder / "y.out").write_bytes(struct.pack(f"{n}f", *(2 * value for value in x)))
"""


def test_a_size_that_fails_leaves_the_others(attune, folder):
    """Failed sizes are listed beside the tuned ones."""
    (folder / "twice.py").write_text(REFERENCE)
    file = json.loads((folder / "series.json").read_text())
    file["name"] = "series-by-program"
    file["reference"] = {"program": ["python3", "twice.py"]}
    (folder / "by_program.json").write_text(json.dumps(file))
    process = attune.start("tune", "--kernel", str(folder / "by_program.json"), "--size", "n=64",
                           "--size", "n=128", "--objective", "error", *TIME, "--json")
    out, err = process.communicate(timeout=program.TIMEOUT_S)
    program.check(process.returncode == 3, (process.returncode, err))
    failed, tuned = json.loads(out)["problems"]
    program.check(failed["state"] == "failed" and "no data of that size" in failed["message"], failed)
    program.check(tuned["state"] == "tuned" and tuned["front"] is not None, tuned)


def test_a_size_that_fits_into_no_memory_makes_a_run_no_worse(attune, kernel):
    """As of what is tuned for time."""
    out, _ = attune.run("tune", *kernel, "--size", "n=2048", "--size", f"n={1 << 40}", "--objective",
                        "error", *TIME, "--json")
    states = [problem["state"] for problem in json.loads(out)["problems"]]
    program.check(states == ["already_tuned", "unsupported"], states)


def test_mistakes(attune, kernel):
    def refused(what, *words):
        err = attune.run("tune", *words, status=2)[1]
        program.check(what in err, f"{what!r} is not in {err!r}")

    refused("has no figure 'loss'; --objective may name time, energy, error, terms", *kernel,
            "--objective", "loss", "--retune")
    refused("stands twice", *kernel, "--objective", "time,time")
    refused("apart by a comma without a blank", *kernel, "--objective", "time ,error")
    err = attune.run("best", *kernel, "--objective", "time,loss", status=2)[1]
    program.check("has no figure 'loss'; --objective may name time" in err, err)
    err = attune.run("best", *kernel, "--size", "n=1", "--objective", "error")[1]
    program.check(f"'attune tune --kernel {kernel[1]} --objective error'" in err, err)
    early = json.loads(pathlib.Path(kernel[1]).read_text())
    early["figures"]["error"]["from"]["first"] = "n - 100"
    file = attune.folder / "own" / "early.json"
    file.write_text(json.dumps(early))
    refused("series n=64: The figure 'error': 'n - 100' is -36, which is below 0.", "--kernel", str(file),
            "--size", "n=128", "--size", "n=64", "--objective", "error")
    refused("has 3 names", *kernel, "--objective", "time,error,terms")
    refused("--kernel", "--problem", "gemm@1{m=4,n=4,k=4}", "--objective", "energy")
    refused("--session", *kernel, "--objective", "energy", "--session", "none")


def test(attune):
    program.require_device(attune, "opencl:0")
    folder = attune.folder / "own"
    shutil.copytree(attune.data / "own_kernel", folder)
    kernel = ("--kernel", str(folder / "series.json"))
    test_front_of_time_and_a_figure(attune, kernel)
    test_time_first_is_served(attune, kernel)
    test_a_figure_alone(attune, kernel)
    test_report_draws_the_front(attune, kernel)
    test_energy(attune, kernel)
    test_what_cannot_be_measured(attune, kernel)
    test_more_candidates_are_measured_again(attune, kernel)
    test_a_size_that_fails_leaves_the_others(attune, folder)
    test_a_size_that_fits_into_no_memory_makes_a_run_no_worse(attune, kernel)
    test_mistakes(attune, kernel)


program.main(test)
