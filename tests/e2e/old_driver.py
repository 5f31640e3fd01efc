#!/usr/bin/env python3
"""A machine whose NVIDIA driver is too old: what is there and what is needed is said, and everything
else works. STAND_IN_DRIVER is the folder of a libcuda.so.1 that knows CUDA 11.4."""

import os

import program


def test(attune):
    # No platform of OpenCL: NVIDIA's would load the same driver and trust it.
    settings = {"LD_LIBRARY_PATH": os.environ["STAND_IN_DRIVER"],
                "OCL_ICD_VENDORS": str(attune.folder)}
    report = attune.json("devices", **settings)
    cuda = next(each for each in report["backends"] if each["name"] == "cuda")
    driver = next(each for each in cuda["libraries"] if each["name"] == "cuda-driver")
    program.check(not driver["available"] and not cuda["devices"], f"it is used: {driver}")
    for words in ("libcuda.so.1", "knows CUDA 11.4", "12.3 is the least", "Install a newer driver"):
        program.check(words in driver["missing"], f"'{words}' is not in: {driver['missing']}")
    table, _ = attune.run("devices", **settings)
    program.check("knows CUDA 11.4" in table, table)

    _, err = attune.run("tune", "--problem", "gemm@1{m=8,n=8,k=8}", "--device", "cuda:0", status=1,
                        **settings)
    program.check("no device 'cuda:0'" in err and "'attune devices' says what is missing" in err, err)
    _, err = attune.run("tune", "--problem", "gemm@1{m=8,n=8,k=8}", "--device", "cuda:all", status=1,
                        **settings)
    program.check("'attune devices'" in err, err)
    summary = attune.json("tune", "--problem", "gemm@1{m=8,n=8,k=8}", "--device", "fake",
                          "--per-problem", "200ms", **settings)
    program.check(summary["tuned"] == 1, f"the fake device is not tuned beside it: {summary}")


program.main(test)
