#!/usr/bin/env python3
"""Races attune against Kernel Tuner on real kernels: same kernel, same machine, same wall time.

  kernel_tuner_race.py --bin build/release/bin --results FILE [--kernel matmul] [--budget 20]
                       [--seeds 1-10] [--device opencl:0|cuda:0] [--time-left 540] [--json]

Every tuner gets the budget as wall time of its whole command, start of the interpreter included,
with empty compile caches. Then the best configs of all tuners are compiled once more and timed by
turns in one process, which does not count. Each result is one line of FILE; a later run with the
same FILE measures only what is missing, and prints the summary of all that is there.
--time-left SECONDS ends the run before a race that would exceed it.

Needs Kernel Tuner 1.5 and, on OpenCL, pyopencl; on CUDA, CuPy.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

START_S = time.monotonic()
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
KERNEL_FOLDER = REPOSITORY / "examples" / "own_kernel"
# Sizes of the race: on two cores a launch takes milliseconds to a second, on a GPU microseconds to
# milliseconds.
SIZES = {
    "opencl": {"matmul": "m=512,n=512,k=512",
               "convolution": "channels=32,height=66,width=66,filters=64,extent=3",
               "nbody": "bodies=4096",
               "stencil": "depth=96,height=128,width=128"},
    "cuda": {"matmul": "m=2048,n=2048,k=2048",
             "convolution": "channels=64,height=130,width=130,filters=128,extent=3",
             "nbody": "bodies=32768",
             "stencil": "depth=256,height=256,width=256"},
}
KERNEL_TUNER_STRATEGIES = {"random": "random_sample", "hybrid_vndx": "hybrid_vndx"}
TUNERS = ("attune", *KERNEL_TUNER_STRATEGIES)
RETIMING_ROUNDS = 25


class KernelFile:
    """A kernel file of attune as Kernel Tuner wants to be told of it."""

    def __init__(self, name, sizes_text, device):
        path = KERNEL_FOLDER / f"{name}.json"
        self.name = name
        self.path = path
        self.spec = json.loads(path.read_text())
        self.sizes_text = sizes_text
        self.sizes = {key: int(value)
                      for key, value in (pair.split("=") for pair in sizes_text.split(","))}
        self.source = "\n".join((KERNEL_FOLDER / source).read_text()
                                for source in self.spec["sources"])
        self.launch = self.spec["launches"][0]
        self.parameters = {parameter["name"]: parameter["values"]
                           for parameter in self.spec["parameters"]}
        self.limits = device.limits()
        self.defines = {size.upper(): self.sizes[size]
                        for size in self.spec["sizes"].get("compile_time", [])}

    def evaluate(self, expression, config):
        """The value of an expression of the kernel file; its operators are those of Python."""
        names = {**self.sizes, **self.limits, **config,
                 "ceil_div": lambda a, b: -(-a // b), "min": min, "max": max}
        return eval(str(expression), {"__builtins__": {}}, names)  # Only our own examples.

    def is_valid(self, config):
        return all(self.evaluate(constraint, config)
                   for constraint in self.spec.get("constraints", []))

    def groups(self, config):
        return tuple(int(self.evaluate(size, config)) for size in self.launch["groups"])

    def local(self, config):
        return tuple(int(self.evaluate(size, config)) for size in self.launch["local"])

    def arguments(self):
        """NumPy arrays and scalars, in the order of the launch; the same for each process."""
        import numpy
        generator = numpy.random.default_rng(1)
        arrays = {}
        for operand in self.spec["operands"]:
            shape = [int(self.evaluate(extent, {})) for extent in operand["shape"]]
            if operand["access"] == "out":
                arrays[operand["name"]] = numpy.zeros(shape, numpy.float32)
            else:
                low, high = operand.get("fill", {}).get("uniform", [-1, 1])
                arrays[operand["name"]] = generator.uniform(low, high, shape).astype(numpy.float32)
        arguments = []
        for argument in self.launch["arguments"]:
            if "operand" in argument:
                arguments.append(arrays[argument["operand"]])
            elif "int" in argument:
                arguments.append(numpy.int32(self.evaluate(argument["int"], {})))
            else:
                arguments.append(numpy.float32(self.evaluate(argument["float"], {})))
        return arguments


class OpenClDevice:
    language = "OpenCL"

    def __init__(self, number):
        import pyopencl
        self.cl = pyopencl
        self.device = [device for platform in pyopencl.get_platforms()
                       for device in platform.get_devices()][number]

    def limits(self):
        return {"max_work_group_size": self.device.max_work_group_size,
                "local_memory_bytes": self.device.local_mem_size}

    def timers(self, kernel, configs):
        """For each config a function that launches it once and returns nanoseconds."""
        cl = self.cl
        context = cl.Context([self.device])
        queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        arguments = [cl.Buffer(context, flags, hostbuf=argument) if argument.ndim > 0 else argument
                     for argument in kernel.arguments()]
        self.kept = arguments  # A kernel does not keep its arguments alive.

        def timer(config):
            macros = {**kernel.defines, **config}
            options = [f"-D{name}={value}" for name, value in macros.items()]
            program = cl.Program(context, kernel.source).build(options)
            function = cl.Kernel(program, kernel.launch["function"])
            function.set_args(*arguments)
            local = kernel.local(config)
            everything = tuple(g * l for g, l in zip(kernel.groups(config), local))

            def launch():
                event = cl.enqueue_nd_range_kernel(queue, function, everything, local)
                event.wait()
                return event.profile.end - event.profile.start
            return launch
        return [timer(config) for config in configs]


class CudaDevice:
    language = "CuPy"

    def __init__(self, number):
        import cupy
        self.cupy = cupy
        cupy.cuda.Device(number).use()

    def limits(self):
        attributes = self.cupy.cuda.Device().attributes
        return {"max_work_group_size": attributes["MaxThreadsPerBlock"],
                "local_memory_bytes": attributes["MaxSharedMemoryPerBlock"]}

    def timers(self, kernel, configs):
        cupy = self.cupy
        arguments = [cupy.asarray(argument) if argument.ndim > 0 else argument
                     for argument in kernel.arguments()]

        def timer(config):
            macros = {**kernel.defines, **config}
            options = tuple(f"-D{name}={value}" for name, value in macros.items())
            function = cupy.RawKernel(cuda_source(kernel), kernel.launch["function"],
                                      options=options)
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()

            def launch():
                begin.record()
                function(kernel.groups(config), kernel.local(config), arguments)
                end.record()
                end.synchronize()
                return cupy.cuda.get_elapsed_time(begin, end) * 1e6
            return launch
        return [timer(config) for config in configs]


def cuda_source(kernel):
    """OpenCL C as CUDA C++: what the example kernels need of it."""
    prelude = """
#define __kernel extern "C" __global__
#define __global
#define __local __shared__
#define barrier(fence) __syncthreads()
#define get_local_id(d) ((d) == 0 ? threadIdx.x : (d) == 1 ? threadIdx.y : threadIdx.z)
#define get_group_id(d) ((d) == 0 ? blockIdx.x : (d) == 1 ? blockIdx.y : blockIdx.z)
#define get_local_size(d) ((d) == 0 ? blockDim.x : (d) == 1 ? blockDim.y : blockDim.z)
#define get_global_id(d) (get_group_id(d) * get_local_size(d) + get_local_id(d))
"""
    return prelude + kernel.source


def open_device(spec):
    backend, _, number = spec.partition(":")
    return {"opencl": OpenClDevice, "cuda": CudaDevice}[backend](int(number or 0))


def mend_device_uuid():
    """Kernel Tuner 1.5 takes the uuid of a device for 16 bytes; CuPy 14 ends it at a zero."""
    import cupy
    properties_of = cupy.cuda.runtime.getDeviceProperties

    def mended(number):
        properties = dict(properties_of(number))
        properties["uuid"] = bytes(properties["uuid"])[:16].ljust(16, b"\0")
        return properties

    cupy.cuda.runtime.getDeviceProperties = mended


def tune_with_kernel_tuner(options):
    """The child of a race: prints one line of JSON."""
    import random
    import numpy
    import kernel_tuner
    device = open_device(options.device)
    if device.language == "CuPy":
        mend_device_uuid()
    kernel = KernelFile(options.kernel[0], options.size, device)
    random.seed(options.seed)
    numpy.random.seed(options.seed)
    local_names = [size for size in kernel.launch["local"] if isinstance(size, str)]
    source = kernel.source if device.language == "OpenCL" else cuda_source(kernel)
    # fraction: of the space that random sampling may cover, by default only a tenth.
    limits = {"time_limit": max(1.0, options.deadline - time.time())}
    if options.tuner == "random":
        limits["fraction"] = 1.0
    results, _ = kernel_tuner.tune_kernel(
        kernel.launch["function"], source, lambda config: kernel.groups(config),
        kernel.arguments(), kernel.parameters, grid_div_x=[], grid_div_y=[], grid_div_z=[],
        restrictions=kernel.is_valid, block_size_names=local_names, lang=device.language,
        compiler_options=[f"-D{name}={value}" for name, value in kernel.defines.items()],
        strategy=KERNEL_TUNER_STRATEGIES[options.tuner], strategy_options=limits,
        quiet=True)
    valid = [result for result in results if isinstance(result.get("time"), (int, float))]
    best = min(valid, key=lambda result: result["time"], default=None)
    print(json.dumps({
        "config": {name: best[name] for name in kernel.parameters} if best else None,
        "evaluated": len(results), "passed": len(valid)}))


def clean_environment(home):
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("ATTUNE_", "XDG_", "POCL_", "CUPY_"))}
    environment.update({"HOME": str(home), "XDG_CACHE_HOME": f"{home}/cache",
                        "XDG_DATA_HOME": f"{home}/data", "CUPY_CACHE_DIR": f"{home}/cupy",
                        "POCL_CACHE_DIR": f"{home}/pocl", "PYOPENCL_NO_CACHE": "1"})
    return environment


def run_child(command, home):
    """(what it printed, wall seconds)."""
    begin_s = time.monotonic()
    done = subprocess.run(command, env=clean_environment(home), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    wall_s = time.monotonic() - begin_s
    if done.returncode != 0:
        sys.exit(f"kernel_tuner_race: '{' '.join(command)}' ended with {done.returncode}: "
                 f"{done.stderr[-2000:]}")
    return done.stdout, wall_s


def tune_with_attune(options, kernel, budget_s, seed, home):
    command = [os.path.join(os.path.abspath(options.bin), "attune"), "tune", "--kernel",
               str(kernel.path), "--size", kernel.sizes_text, "--device", options.device,
               "--budget", f"{budget_s}s", "--seed", str(seed), "--json"]
    printed, wall_s = run_child(command + options.attune_option, home)
    problem = json.loads(printed)["problems"][0]
    return {"config": parse_config(problem["choice"]["candidate"]), "wall_s": wall_s,
            "evaluated": problem["considered"], "passed": problem["qualified"]}


def parse_config(text):
    """{"BLOCK_X": 16} of 'solver@1{BLOCK_X=16,...}'."""
    inside = text[text.index("{") + 1:text.rindex("}")]
    return {name: int(value) for name, value in (pair.split("=") for pair in inside.split(","))}


def tune(options, kernel, tuner, budget_s, seed):
    with tempfile.TemporaryDirectory() as home:
        if tuner == "attune":
            return tune_with_attune(options, kernel, budget_s, seed, home)
        command = [sys.executable, __file__, "--tuner", tuner, "--device", options.device,
                   "--kernel", kernel.name, "--size", kernel.sizes_text,
                   "--seed", str(seed), "--deadline", str(time.time() + budget_s)]
        printed, wall_s = run_child(command, home)
        return {**json.loads(printed.splitlines()[-1]), "wall_s": wall_s}


def time_by_turns(device, kernel, configs):
    """Median milliseconds of each config, launched by turns in an order that alternates."""
    launches = device.timers(kernel, configs)
    for launch in launches:
        launch()
    samples = [[] for _ in configs]
    for turn in range(RETIMING_ROUNDS):
        order = range(len(launches)) if turn % 2 == 0 else reversed(range(len(launches)))
        for i in order:
            samples[i].append(launches[i]() / 1e6)
    return [statistics.median(times) for times in samples]


def retime(options):
    """The child that times: reads {"configs": [...]} and prints medians."""
    device = open_device(options.device)
    kernel = KernelFile(options.kernel[0], options.size, device)
    configs = json.loads(sys.stdin.read())
    print(json.dumps(time_by_turns(device, kernel, configs)))


def race(options, kernel, budget_s, seed):
    results = {tuner: tune(options, kernel, tuner, budget_s, seed) for tuner in TUNERS}
    configs = [results[tuner]["config"] for tuner in TUNERS]
    found = [config for config in configs if config is not None]
    done = subprocess.run([sys.executable, __file__, "--retime", "--device", options.device,
                           "--kernel", kernel.name, "--size", kernel.sizes_text],
                          input=json.dumps(found), stdout=subprocess.PIPE, text=True, check=True)
    times = iter(json.loads(done.stdout.splitlines()[-1]))
    for tuner in TUNERS:
        result = results[tuner]
        result["ms"] = next(times) if result["config"] is not None else None
    return {"kernel": kernel.name, "size": kernel.sizes_text, "device": options.device,
            "budget_s": budget_s, "seed": seed, "results": results}


def key_of(row):
    return (row["kernel"], row["size"], row["device"], row["budget_s"], row["seed"])


def geometric_mean(ratios):
    return math.exp(statistics.fmean(math.log(ratio) for ratio in ratios)) if ratios else None


def summary_of(rows):
    """One line for each kernel and budget, and one for each budget over all kernels."""
    groups = {}
    for row in rows:
        for kernel in (row["kernel"], "all"):
            groups.setdefault((row["device"], row["budget_s"], kernel), []).append(row)
    lines = []
    for (device, budget_s, kernel), members in sorted(groups.items()):
        usable = [row["results"] for row in members
                  if all(result["ms"] for result in row["results"].values())]
        rivals = list(KERNEL_TUNER_STRATEGIES)
        line = {"device": device, "budget_s": budget_s, "kernel": kernel, "races": len(usable),
                "failed": len(members) - len(usable)}
        line["over_better"] = geometric_mean(
            [min(results[rival]["ms"] for rival in rivals) / results["attune"]["ms"]
             for results in usable])
        line["not_behind_better"] = sum(
            results["attune"]["ms"] <= min(results[rival]["ms"] for rival in rivals)
            for results in usable)
        for rival in rivals:
            line[f"over_{rival}"] = geometric_mean(
                [results[rival]["ms"] / results["attune"]["ms"] for results in usable])
            line[f"not_behind_{rival}"] = sum(
                results["attune"]["ms"] <= results[rival]["ms"] for results in usable)
            line[f"speed_over_{rival}"] = geometric_mean(
                [results["attune"]["evaluated"] / results["attune"]["wall_s"] /
                 (max(results[rival]["evaluated"], 1) / results[rival]["wall_s"])
                 for results in usable])
        line["most_of_budget"] = max(
            (results["attune"]["wall_s"] / budget_s for results in usable), default=None)
        lines.append(line)
    return lines


def print_summary(lines):
    print(f"{'device':9} {'kernel':12} {'budget':>6} {'races':>5} {'x better':>8} {'not behind':>10}"
          f" {'x random':>8} {'x hybrid':>8} {'configs/s':>9} {'budget used':>11}")
    show = lambda value: "-" if value is None else f"{value:.2f}"
    for line in lines:
        print(f"{line['device']:9} {line['kernel']:12} {line['budget_s']:>5g}s {line['races']:>5} "
              f"{show(line['over_better']):>8} {line['not_behind_better']:>10} "
              f"{show(line['over_random']):>8} {show(line['over_hybrid_vndx']):>8} "
              f"{show(line['speed_over_random']):>9} {show(line['most_of_budget']):>11}")


def seeds_of(text):
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin", help="folder of attune")
    parser.add_argument("--results", help="file of results, one line for each race")
    parser.add_argument("--kernel", action="append", help="may be repeated (default: all)")
    parser.add_argument("--size", help="sizes other than the usual ones, with one --kernel")
    parser.add_argument("--budget", type=float, action="append", help="seconds; may be repeated")
    parser.add_argument("--seeds", type=seeds_of, default=[1], help="as 1-10")
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("--time-left", type=float, help="seconds that this run may take")
    parser.add_argument("--attune-option", action="append", default=[],
                        help="passed on to 'attune tune'; may be repeated")
    parser.add_argument("--json", action="store_true")
    # For the processes that this program starts.
    parser.add_argument("--tuner", choices=TUNERS, help=argparse.SUPPRESS)
    parser.add_argument("--retime", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--deadline", type=float, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = parse_arguments()
    if options.tuner is not None:
        return tune_with_kernel_tuner(options)
    if options.retime:
        return retime(options)
    results = pathlib.Path(options.results) if options.results else None
    rows = []
    if results is not None and results.exists():
        rows = [json.loads(line) for line in results.read_text().splitlines()]
    done = {key_of(row) for row in rows}
    device = open_device(options.device)
    sizes = SIZES[options.device.partition(":")[0]]
    longest_s = 0
    for seed in options.seeds:
        for budget_s in options.budget or [20.0]:
            for name in options.kernel or list(sizes):
                kernel = KernelFile(name, options.size or sizes[name], device)
                if (name, kernel.sizes_text, options.device, budget_s, seed) in done:
                    continue
                begin_s = time.monotonic()
                needed_s = max(longest_s, len(TUNERS) * budget_s * 1.2)
                if options.time_left and begin_s - START_S + needed_s > options.time_left:
                    continue
                row = race(options, kernel, budget_s, seed)
                longest_s = max(longest_s, time.monotonic() - begin_s)
                rows.append(row)
                if results is not None:
                    with results.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                if sys.stderr.isatty():
                    print(f"{name} {budget_s:g} s seed {seed}: " + ", ".join(
                        f"{tuner} {row['results'][tuner]['ms']} ms" for tuner in TUNERS),
                        file=sys.stderr)
    lines = summary_of([row for row in rows if row["device"] == options.device])
    if options.json:
        summary = {f"{line['kernel']}, {line['budget_s']:g} s": line for line in lines}
        print(json.dumps({"summary": summary, "rows": rows}, indent=1))
    else:
        print_summary(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
