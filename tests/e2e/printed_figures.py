"""Users' kernels tuned by what they print: on the first OpenCL device, or with PRINTING_KERNEL set to
printing_cuda.json on the first NVIDIA GPU. Exits with 77 where there is none."""

import os
import shutil

import program
from fronts import TIME, config_of, on_front, tune_whole

TERMS = (64, 256, 1024)
KERNEL = os.environ.get("PRINTING_KERNEL", "printing.json")
DEVICES = {"printing.json": "opencl:0", "printing_cuda.json": "cuda:0"}


def test_printed_figures(attune, kernel):
    """A printed metric counts like a written one; a config that does not print it has none. Timed
    launches print, too, but that output is dropped."""
    result = tune_whole(attune, kernel, "time,error")
    program.check(result["measured"] == 3 and result["failures"] == {"run_failed": 3}, result)
    front = on_front(result["front"])
    program.check([config_of(point) for point in front] == [{"SAYS": 1, "TERMS": terms}
                                                            for terms in TERMS], front)
    for point, terms in zip(front, TERMS):
        error = point["figures"]["error"]
        program.check(error["value"] == error["low"] == error["high"] == 1 / terms, error)
    best = attune.json("best", *kernel, "--objective", "time,error")[0]["front"]
    program.check(best == result["front"], best)


def test_many_print(attune, kernel):
    """The 64 groups of the kernel are put together as its file says."""
    out, err = attune.run("tune", *kernel, "--objective", "work", *TIME)
    program.check("TERMS=1024" in out and "6.554e+04 terms" in out, out)
    program.check("group" not in out + err, out + err)
    front = on_front(attune.json("best", *kernel, "--objective", "work")[0]["front"])
    program.check({point["figures"]["work"]["value"] for point in front} == {64 * 1024}, front)


def test_what_is_not_printed(attune, kernel):
    err = attune.run("tune", *kernel, "--objective", "loss", *TIME, status=1)[1]
    program.check("The figure 'printed loss first' is not there: 'group " in err and
                  "bytes]' was printed" in err, err)


def test(attune):
    program.require_device(attune, DEVICES[KERNEL])
    folder = attune.folder / "own"
    shutil.copytree(attune.data / "own_kernel", folder)
    kernel = ("--kernel", str(folder / KERNEL))
    test_printed_figures(attune, kernel)
    test_many_print(attune, kernel)
    test_what_is_not_printed(attune, kernel)


program.main(test)
