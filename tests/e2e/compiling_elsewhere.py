#!/usr/bin/env python3
"""A session that was made for a GPU and is compiled for where that is not: by the same compiler its
jobs are done, by another one they are refused by name, and left. STAND_IN_DRIVER is the folder of a
libcuda.so.1 whose device is only listed, OTHER_NVRTC that of an NVRTC of another version."""

import json
import os

import program

DB = ("--db", "moved.db")
SESSION = ("--session", "bound")
COMPILE = ("tune", *SESSION, "--step", "perf:compile", *DB)


def jobs(attune):
    """{(step, solver): state}."""
    return {(job["step"], job["solver"]): job["state"]
            for job in attune.json("jobs", "list", *SESSION, *DB)}


def made_where_the_device_is(attune):
    """As far as its driver tells, which opens no platform of OpenCL beside it."""
    settings = {"LD_LIBRARY_PATH": os.environ["STAND_IN_DRIVER"],
                "OCL_ICD_VENDORS": str(attune.folder)}
    out, _ = attune.run("session", "new", "bound", "--device", "cuda:0", *DB, **settings)
    program.check("NVIDIA H200" in out, out)


def it_can_be_prepared_elsewhere(attune):
    _, err = attune.run("tune", "--problem", "gemm@1{m=64,n=64,k=64}", "--device", "cuda:0", *DB,
                        status=1)
    program.check("no device 'cuda:0'" in err, err)
    survey = attune.json("applicability", *SESSION, "--problem", "gemm@1{m=64,n=64,k=64}", *DB)
    program.check("cuda.gemm-tiled" in str(survey), survey)
    added = attune.json("jobs", "load", *SESSION, "--problem", "gemm@1{m=64,n=64,k=64}", "--solvers",
                        "cuda.gemm-tiled", "--steps", "perf:compile,perf:measure", *DB)
    program.check(added["added"] == 2, added)


def another_compiler_is_refused(attune):
    other = {"LD_LIBRARY_PATH": os.environ["OTHER_NVRTC"]}
    before = jobs(attune)
    for words in (COMPILE, ("tune", *SESSION, "--stale", *DB),
                  ("build", *SESSION, "--target", "sm_90", "--problem", "gemm@1{m=64,n=64,k=64}",
                   *DB)):
        _, err = attune.run(*words, status=1, **other)
        for part in ("'bound'", "library.nvrtc is ", " in the session and 13.99 here"):
            program.check(part in err, f"'{part}' is not in: {err}")
    program.check(jobs(attune) == before, jobs(attune))
    program.check(not list((attune.folder / "cache").rglob("*.kernel")), "something was compiled")


def the_same_compiler_does_the_jobs(attune):
    done = attune.json(*COMPILE)
    program.check((done["done"], done["failed"], done["left"]) == (1, 0, 0), done)
    program.check(jobs(attune) == {("perf:compile", "cuda.gemm-tiled"): "done",
                                   ("perf:measure", "cuda.gemm-tiled"): "queued"}, jobs(attune))
    program.check(list((attune.folder / "cache").rglob("*.kernel")), "nothing was compiled")
    _, err = attune.run("tune", *SESSION, "--step", "perf:measure", *DB, status=1)
    program.check("has to be measured on it" in err, err)


def warnings_go_to_the_log(attune):
    """The kernel file of quiet.py as CUDA C++."""
    folder = attune.folder / "noisy"
    folder.mkdir()
    noisy = json.loads((attune.data / "noisy_kernel/noisy.json").read_text())
    (folder / "noisy.json").write_text(json.dumps({**noisy, "language": "cuda", "sources": ["noisy.cu"]}))
    (folder / "noisy.cu").write_text(
        "#warning this kernel is noisy\n"
        'extern "C" __global__ void noisy(const float* a, const float* b, float* c, int m, int n, int k) {}\n')
    log = attune.folder / "noisy.log"
    settings = {"ATTUNE_KERNEL_PATH": str(folder), "LD_LIBRARY_PATH": os.environ["STAND_IN_DRIVER"],
                "OCL_ICD_VENDORS": str(attune.folder)}
    attune.run("session", "new", "noisy", "--device", "cuda:0", *DB, **settings)
    del settings["LD_LIBRARY_PATH"]
    attune.run("jobs", "load", "--session", "noisy", "--problem", "gemm@1{m=64,n=64,k=64}", "--solvers",
               "cuda.noisy-gemm", "--steps", "perf:compile", *DB, **settings)
    printed = "".join(attune.run("tune", "--session", "noisy", "--step", "perf:compile", *DB, "--log",
                                 log.name, **settings))
    program.check("1 job done" in printed and "is noisy" not in printed, printed)
    program.check("this kernel is noisy" in log.read_text(), log.read_text())


def test(attune):
    attune.environment["ATTUNE_PLUGINS"] = "cuda"
    made_where_the_device_is(attune)
    it_can_be_prepared_elsewhere(attune)
    another_compiler_is_refused(attune)
    the_same_compiler_does_the_jobs(attune)
    warnings_go_to_the_log(attune)


program.main(test)
