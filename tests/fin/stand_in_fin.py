#!/usr/bin/env python3
"""Stands in for AMD's `fin` in tests: the same words, files and answers, and every fault of it.

  stand_in_fin.py -i in.json -o out.json

STAND_IN_FIN names faults by solver, and by step if behind '@': "ConvAsm1x1U=segv@miopen_perf_eval,
GemmFwd1x1_0_1=zero" (in one line). STAND_IN_FIN_RUNS is a file to which each run appends its step and
its solvers.
"""

import base64
import bz2
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys

# Name: number, whether it is tunable, algorithm, parameters by default, files that are compiled.
SOLVERS = {
    "ConvAsm1x1U": ("3", True, "miopenConvolutionFwdAlgoDirect", "1,8,2,64,1,1,1,4", ["conv1x1u.s"]),
    "ConvOclDirectFwd": ("11", True, "miopenConvolutionFwdAlgoDirect", "16,16,16,16,1,1,8,8,1",
                         ["MIOpenConvDirUni.cl"]),
    "GemmFwd1x1_0_1": ("91", False, "miopenConvolutionFwdAlgoGEMM", "", []),
}
NEEDED = ("cmd", "mode", "pad_mode", "direction", "batchsize", "spatial_dim", "in_channels", "in_h", "in_w",
          "out_channels", "fil_h", "fil_w", "pad_h", "pad_w", "conv_stride_h", "dilation_h", "group_count",
          "in_layout", "wei_layout", "out_layout", "trans_output_pad_h")
ARCHS = ("gfx900", "gfx906", "gfx908", "gfx1030", "gfx90a", "gfx940", "gfx942")


def die(message, status=1):
    print(message, file=sys.stderr)
    sys.exit(status)


def faults():
    pairs = filter(None, os.environ.get("STAND_IN_FIN", "").split(","))
    return dict(pair.split("=") for pair in pairs)


def fault_of(solver, step):
    fault, _, at = faults().get(solver, "").partition("@")
    return fault if at in ("", step) else ""


def database():
    """MIOpen's user database with the results of searches."""
    return pathlib.Path(os.environ["MIOPEN_USER_DB_PATH"]) / "miopen/gfx90a68.updb.txt"


def found_params(solver):
    lines = database().read_text().splitlines() if database().exists() else []
    return dict(line.split(":") for line in lines).get(solver)


def keep_params(solver, params):
    database().parent.mkdir(exist_ok=True)
    database().write_text(f"{solver}:{params}\n")


def take_down(fault):
    """Ends or hangs the whole process."""
    if fault == "segv":
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault == "throw":
        die("terminate called after throwing an instance of 'miopen::Exception': it's gone")
    if fault == "hang":
        # With a child, as a compiler would be.
        child = subprocess.Popen(["/bin/sleep", "600"])
        if "STAND_IN_FIN_RUNS" in os.environ:
            with open(os.environ["STAND_IN_FIN_RUNS"] + ".pids", "a", encoding="utf-8") as pids:
                pids.write(f"{os.getpid()}\n{child.pid}\n")
        child.wait()


def kernel(name, solver, number, fault):
    code = f"{solver} {name} {number}".encode() * 50
    blob, hash_, size = base64.b64encode(bz2.compress(code)).decode(), hashlib.md5(code).hexdigest(), len(code)
    if fault == "bad_md5":
        hash_ = hashlib.md5(b"other").hexdigest()
    if fault == "no_compress":
        blob, hash_, size = "", "Failed to compress kernel", 0
    return {"kernel_file": name, "comp_options": f" -DSET={number}", "blob": blob, "md5_sum": hash_,
            "uncompressed_size": size}


def compiled(solver, step, fault):
    _, tunable, algorithm, params, files = SOLVERS[solver]
    flag = "find_compiled" if step == "miopen_find_compile" else "perf_compiled"
    result = {"solver_name": solver, "algorithm": algorithm, flag: True, "reason": "Success",
              "tunable": tunable, "params": params, "workspace": 0}
    sets = 2 if step == "miopen_perf_compile" and tunable else 1
    result["kernel_objects"] = [kernel(name, solver, number, fault) for name in files for number in range(sets)]
    if fault == "refuses":
        result.update({flag: False, "reason": "Solver throws exception it's not ':valid'", "kernel_objects": []})
    if fault == "no_kernels":
        del result["kernel_objects"]
    if fault == "no_reason":
        del result["reason"]
    return result


def evaluated(given, step, fault):
    solver = given["solver_name"]
    _, tunable, algorithm, params, files = SOLVERS[solver]
    if files and not given["kernel_objects"]:
        die(f"{solver} has no kernels")
    for number, each in enumerate(given["kernel_objects"]):
        code = bz2.decompress(base64.b64decode(each["blob"]))
        if hashlib.md5(code).hexdigest() != each["md5_sum"] or len(code) != each["uncompressed_size"]:
            die(f"kernel {number} of {solver} is damaged")
    is_search = step == "miopen_perf_eval" and tunable
    found = "9" + params[1:] if is_search else found_params(solver)
    if is_search and fault != "no_database":
        keep_params(solver, found)
    if fault == "other_params":
        found = None
    # The last set of kernels is that of what is found; a search shows those of the default.
    kernels = given["kernel_objects"][-1:] if found and not is_search else given["kernel_objects"][:1]
    result = {"solver_name": solver, "algorithm": algorithm, "evaluated": True, "reason": "Success",
              "tunable": tunable, "params": found or params, "time": 0.25 if found else 0.5,
              "workspace": 2048 if found and not is_search else 4096, "layout": "NCHW", "data_type": 1,
              "direction": 1, "bias": 0, "kernel_objects": kernels}
    if fault == "no_params":
        del result["params"]
    if fault == "zero":
        result.update({"time": 0.0, "reason": "Invoker returned time = 0"})
    if fault == "quiet_zero":
        result["time"] = 0.0
    if fault == "negative":
        result["time"] = -1
    if fault == "no_time":
        del result["time"]
    if fault == "not_evaluated":
        result.update({"evaluated": False, "reason": "Invoker not implemented"})
    if fault == "bad_md5":
        result["kernel_objects"] = [kernel("x.s", solver, 0, fault)]
    return result


def check(command, step):
    if "solvers" in command and not set(command["solvers"]) <= SOLVERS.keys():
        die("unknown solver")
    arch = command["arch"].split(":")[0]
    if arch not in ARCHS:
        die(f"VerifyDevProps: {arch}")
    for field in NEEDED:
        if field not in command["config"]:
            die(f"key '{field}' not found")
    if step.endswith("_eval"):
        if os.environ.get("HIP_VISIBLE_DEVICES", "") == "":
            die("no device")
        if command["steps"][:-1] != ["alloc_buf", "fill_buf"]:
            die("no buffers")
    for folder in ("MIOPEN_USER_DB_PATH", "MIOPEN_CUSTOM_CACHE_DIR"):
        if not pathlib.Path(os.environ[folder]).is_dir():
            die(f"{folder} is no folder")


def answer(command):
    step = command["steps"][-1]
    if step == "get_solvers":
        return {"all_solvers": [{"id": number, "name": name, "tunable": str(int(tunable)), "dynamic": "0",
                                 "type": "convolution"}
                                for name, (number, tunable, *_) in SOLVERS.items()]}
    check(command, step)
    if step == "applicability":
        return {"applicable_solvers": list(SOLVERS)}
    todo = ({given["solver_name"]: given for given in command[step.replace("eval", "compile") + "_result"]}
            if step.endswith("_eval") else dict.fromkeys(command.get("solvers", SOLVERS)))
    results = []
    for solver, given in todo.items():
        fault = fault_of(solver, step)
        take_down(fault)
        if fault == "missing":
            continue
        results.append(evaluated(given, step, fault) if given else compiled(solver, step, fault))
        if fault == "twice":
            results.append(results[-1])
    return {"db_key": "64-28-28-1x1-64-28-28-16-0x0-1x1-1x1-0-NCHW-FP32-F", "is_winograd_only": False,
            "network_config": "64x28", step + "_result": results}


def main():
    if len(sys.argv) != 5 or sys.argv[1] != "-i" or sys.argv[3] != "-o":
        print("Usage: ./fin *input_json *output_json")
        return 0
    commands = json.loads(pathlib.Path(sys.argv[2]).read_text())
    if "STAND_IN_FIN_RUNS" in os.environ:
        with open(os.environ["STAND_IN_FIN_RUNS"], "a", encoding="utf-8") as runs:
            for command in commands:
                solvers = command.get("solvers", [])
                runs.write(f"{command['steps'][-1]} {' '.join(solvers)}\n")
    written = [{"process_env": [f"{name}={value}" for name, value in os.environ.items()]}]
    for command in commands:
        written.append({**answer(command), "config_tuna_id": command.get("config_tuna_id"),
                        "arch": command.get("arch"), "direction": command.get("direction"), "input": command})
    text = json.dumps(written, indent=4)
    if "cut" in faults().values():
        text = text[:len(text) // 2]
    if "pipe" in faults().values():
        os.mkfifo(sys.argv[4])
        return 0
    if "silent" not in faults().values():
        pathlib.Path(sys.argv[4]).write_text(text)
    return 0


sys.exit(main())
