"""A folder that looks like the root of the repository to the commands of one page, and the rules that
adapt commands to it. Commands write only inside this folder.
"""

import bz2
import contextlib
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import requirements

TIMEOUT_S = 120
TIMEOUTS_S = {"minutes": 600, "a build": 1200, "hours": 3 * 3600}  # By what a command needs.
INTERRUPT_S = 2  # When Ctrl-C comes.
TIMED_OUT, ENDED_EARLY = "timed out", "ended before Ctrl-C"  # Instead of an exit status.
PLUGINS = ("opencl", "cuda", "hip")  # Not oneDNN: tuning its hundreds of candidates takes long.

# Patterns of texts in the documentation, and their replacements here. {NAMES} are below.
SUBSTITUTES = (
    (r"/tmp/", "tmp/"),
    (r"/opt/model/", "model/"),
    (r"/etc/ssl/certs/", "certs/"),
    (r"/opt/rocm/bin/fin\b", "{repository}/tests/fin/stand_in_fin.py"),
    (r"--repository \.(?= )", "--repository {repository}"),
    (r"\bHASH\b", "{hash}"),
    (r"\b4711\b", "{job}"),
    (r"@db(?:\.example)?/", "@{database}/"),
    (r"nats://queue\b", "nats://{queue}"),
    (r"\bqueue\.example\b", "{queue_cluster}"),
    (r"\bLIST\b", "tests/data/driver/resnet50.txt"),
    (r"=DATA\b", "={recordings}"),
    # Shorter runs suffice here, and one test of each preset.
    (r"\bmodels --only \w+", r"\g<0> --splits 1"),
    (r"cmake --build --preset (?:dev|asan|tsan)\b", r"\g<0> --target attune_base_test"),
    (r"cmake --build --preset fuzz\b", r"\g<0> --target json_reader_fuzz"),
    (r"ctest --preset \w+", r"\g<0> -R '^attune_base_test$'"),
    (r"-max_total_time=600\b", "-runs=20000 -seed=1"),
    (r"--per-problem 10s --shard 1/4\b", "--per-problem 500ms --rounds 3 --shard 1/20"),
    (r"--shard 1/4 --json torch", "--shard 1/20 --json torch"),
    (r"--count 4\b", "--count 1"),
    (r"--tuned 20 --per-problem-ms 2500\b", "--pictures 3 --tuned 1 --per-problem-ms 300"),
    (r"--layers 450\b", "--layers 2"),
)
# {NAMES}, until requirements.py or an earlier command sets others.
NAMES = {"hash": "HASH", "job": "4711", "database": "db", "queue": "queue", "queue_cluster": "queue.example",
         "recordings": "DATA"}
# Shorter durations, which suffice here.
TIMES = {"--budget": "20s", "--per-problem": "100ms", "--time": "20ms"}
SESSION_TIMES = {"--budget": "100s", "--per-problem": "30s"}  # A golden version needs a decision.
WORKER_TIMES = {"--per-problem": "5s"}  # Every job of a problem has its turn.
KERNEL_TIMES = {"--budget": "60s", "--per-problem": "2s"}  # Own kernels are compiled first.

# Lists that are shortened, as {file: pattern of the kept lines}. Their images become small.
SHORT_LISTS = {"tests/data/driver/resnet50.txt": r"-c 64 -H 56 -W 56 -k 64 .* -F 1 |pool",
               "tests/data/tunableop/untuned.csv": "nn_64_48_32|tn_8_9_10|conv"}
# Files of users, and the files of the repository that replace them.
COPIES = {
    "matmul.json": "examples/own_kernel/matmul.json",
    "matmul.cl": "examples/own_kernel/matmul.cl",
    "mine/gfx906_60.HIP.fdb.txt": "tests/data/miopen/gfx906_60.HIP.fdb.txt",
    "theirs/gfx906_60.HIP.fdb.txt": "tests/data/miopen/gfx906_60.HIP.fdb.txt",
    "gfx1030_36.HIP.fdb.txt.bz2": "tests/data/miopen/gfx1030_36.HIP.fdb.txt",
    "a.csv.gz": "tests/data/spaces/convolution_sample.csv.gz",
    "b.csv.gz": "tests/data/spaces/convolution_sample.csv.gz",
    "new.csv.gz": "tests/data/spaces/convolution_sample.csv.gz",
    "old.csv.gz": "tests/data/spaces/convolution_sample.csv.gz",
    "other.csv.gz": "tests/data/spaces/convolution_sample.csv.gz",
    "times.csv": "tests/data/models/h200_tuned_conv_f16.csv.gz",
    "trace.csv": "tests/data/seer/profilers/nvprof_gpu_trace.csv",
    "metrics.csv": "tests/data/seer/profilers/nvprof_metrics.csv",
    "layers.txt": "tests/data/seer/profilers/layers.txt",
    "runs/1/tunableop_untuned0.csv": "tests/data/tunableop/untuned.csv",
}
# (pattern of commands with a need, pattern of commands that meet it, a command for other pages).
NEEDS = (
    (r"--tag resnet50\b", r"import .*--tag resnet50\b",
     "attune import tests/data/driver/resnet50.txt --tag resnet50 --batch-size 1"),
    (r"--tag llm\b", r"import .*--tag llm\b",
     "attune import tests/data/tunableop/untuned.csv --tag llm"),
    (r"export --tag llm\b", r"tune --tag llm\b", "attune tune --tag llm --per-problem 100ms"),
    (r"--tag t\b", r"import .*--tag t\b", "attune import products.txt --tag t"),
    (r"model fit --device cpu.* gemm", r"tune --tag products\b",
     "attune import products.txt --tag products && attune tune --tag products --per-problem 100ms"),
    (r"model fit --device cpu.* conv", r"tune --tag convolutions\b",
     "attune import tests/data/driver/resnet50.txt --tag convolutions && "
     "attune tune --tag convolutions --per-problem 1s"),
    (r"--session may\b", r"session new may\b",
     "attune session new may --device cpu && "
     "attune import shapes.txt --tag shapes --session may && "
     "attune jobs load --session may --tag shapes --steps perf:measure"),
    (r"--session june\b", r"session new june\b", "attune session new june --device cpu"),
    (r"export --tag llm --device cuda:0", r"tune --tag llm --device cuda:0",
     "attune tune --tag llm --device cuda:0 --per-problem 100ms"),
    (r"model fit --device cuda:0 --operator conv", r"tune --tag convolutions --device cuda:0",
     "attune import tests/data/driver/resnet50.txt --tag convolutions && "
     "attune tune --tag convolutions --device cuda:0 --per-problem 1s"),
    (r"tunable '?attune_tunable_untuned", r"RECORD_UNTUNED=1",
     "ATTUNE_TUNABLE_ENABLED=1 ATTUNE_TUNABLE_TUNING=0 ATTUNE_TUNABLE_RECORD_UNTUNED=1 ./program"),
    # A header that every other source includes is generated.
    (r"build_cost.py build/core", r"cmake --build --preset core",
     "cmake --preset core && cmake --build --preset core --target attune_interface_hash"),
    (r"export --kernel matmul.json", r"tune --kernel matmul.json",
     "attune tune --kernel matmul.json --size m=512,n=512,k=256 --per-problem 2s"),
)


def with_times(command):
    if not re.search(r"\battune\b", command):
        return command
    times = (SESSION_TIMES if "--session" in command else
             WORKER_TIMES if re.match("attune worker ", command) else
             KERNEL_TIMES if "--kernel" in command else TIMES)
    for option, time in times.items():
        command = re.sub(rf"{option} \S+", f"{option} {time}", command)
    if re.match(r"attune (?:--db \S+ )?(?:tune|worker) ", command) and "--per-problem" not in command:
        command += f" --per-problem {times['--per-problem']}"
    return command


def shorten_list(path, pattern):
    lines = [line.replace("-n 128 ", "-n 1 ").replace("-H 56 -W 56", "-H 8 -W 8")
             for line in path.read_text().splitlines() if re.search(pattern, line)]
    path.write_text("\n".join(lines) + "\n")


def ending(child, interrupted, timeout_s):
    """Waits for the leader of a process group, which gets Ctrl-C if `interrupted`."""
    try:
        if interrupted:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(INTERRUPT_S)
                return ENDED_EARLY
            os.killpg(child.pid, signal.SIGINT)
        status = child.wait(timeout_s)
        return 128 - status if status < 0 else status
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return TIMED_OUT


class Sandbox:
    """`options` has `repository`, `bin`, `plugins`, and what `attune devices` lists: `devices`, `libraries`.
    A context, because servers end with it."""

    def __init__(self, options, path):
        self.options, self.path, self.made, self.provided = options, path, set(), {}
        self.names = {**NAMES, "repository": options.repository}
        self.resources = contextlib.ExitStack()
        self.copy_files()
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("ATTUNE_", "XDG_"))}
        plugins = [plugin for plugin in PLUGINS if (options.plugins / f"attune_{plugin}.so").exists()]
        self.environment.update({
            "ATTUNE_PLUGINS": ",".join(plugins), "HOME": str(path / "home"), "PATH": f"{options.bin}:{os.environ['PATH']}",
            "ATTUNE_PLUGIN_PATH": str(options.plugins), "TZ": "UTC",
            "ATTUNE_LOCK_FOLDER": str(path / "home"),  # Sandboxes do not wait for each other.
            "OMP_WAIT_POLICY": "passive"})  # Spinning threads disturb the other sandbox.

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.resources.close()

    def copy_files(self):
        path, root = self.path, self.options.repository
        shutil.copytree(root / "tests/docs/fixtures", path, dirs_exist_ok=True)
        for folder in ("examples", "deploy", "tests/data"):
            shutil.copytree(root / folder, path / folder)
        for name, pattern in SHORT_LISTS.items():
            shorten_list(path / name, pattern)
        for copy, original in COPIES.items():
            content = (root / original).read_bytes()
            (path / copy).parent.mkdir(parents=True, exist_ok=True)
            if original.endswith(".gz") and not copy.endswith(".gz"):
                content = gzip.decompress(content)
            (path / copy).write_bytes(bz2.compress(content) if copy.endswith(".bz2") else content)
        for folder in ("tmp", "model", "home", "certs"):
            (path / folder).mkdir()
        for name, target in (("simulate", self.options.bin / "attune_docs_simulate"),
                             ("program", self.options.bin / "gemm_in_c"), ("tests/docs", root / "tests/docs"),
                             ("bench", root / "bench"),
                             ("build/dev/bin", self.options.bin), ("build/release/bin", self.options.bin),
                             ("build/dev/lib/attune", self.options.plugins)):
            if target.exists():
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                (path / name).symlink_to(target)

    def copy_sources(self):
        """Makes the folder a copy of the repository without anything built, which commands can build."""
        for link in [path for path in self.path.rglob("*") if path.is_symlink()]:
            link.unlink()
        root = self.options.repository

        def left_out(folder, names):
            return {".git", "build"} & set(names) if pathlib.Path(folder) == root else {"__pycache__"} & set(names)
        shutil.copytree(root, self.path, ignore=left_out, dirs_exist_ok=True)
        for name in ("ATTUNE_PLUGINS", "ATTUNE_PLUGIN_PATH"):  # Those belong to another build.
            self.environment.pop(name, None)

    def lacks(self, needs):
        """Provides what a command needs. Returns what this machine lacks of it, with the reason, or None."""
        for name in needs:
            if name not in self.provided:
                self.provided[name] = requirements.PROVIDERS[name](self)
            if reason := self.provided[name]:
                return f"{name} ({reason})"
        return None

    def adapted(self, command):
        for pattern, substitute in SUBSTITUTES:
            command = re.sub(pattern, lambda match: match.expand(substitute).format_map(self.names), command)
        return " && ".join(with_times(part) for part in command.split(" && "))

    def run(self, command, interrupted=False, timeout_s=TIMEOUT_S):
        """Returns (exit status, output), or another ending. Exported variables stay set."""
        script = (f"[ ! -f home/exported ] || . home/exported\n{command}\n"
                  "status=$?\nexport -p > home/exported\nexit $status\n")
        # A file, because a process in the background may hold a pipe open.
        with open(self.path / "home/printed", "w+", errors="replace") as output:
            child = subprocess.Popen(["env", "--default-signal=INT", "bash", "-c", script], cwd=self.path,
                                     env=self.environment, stdin=subprocess.DEVNULL, stdout=output,
                                     stderr=subprocess.STDOUT, start_new_session=True)
            status = ending(child, interrupted, timeout_s)
            output.seek(0)
            printed = output.read()
        if created := re.search(r"\b([0-9a-f]{32,64})\b\s*$", printed):
            self.names["hash"] = created[1]
        return status, printed

    def prepare(self, command):
        """Prepares the unmet needs of `command`. Returns the output of a failure, or None."""
        for number, (needs, makes, setup) in enumerate(NEEDS):
            if re.search(makes, command):
                self.made.add(number)
            elif re.search(needs, command) and number not in self.made:
                self.made.add(number)
                status, printed = self.run(setup)
                if status != 0:
                    return f"cannot prepare it by '{setup}': exit status {status}\n{printed}"
        if re.search(r"\b4711\b", command):
            return self.find_job()
        return None

    def find_job(self):
        status, printed = self.run("attune jobs list --session may --state queued --json")
        if status != 0 or not (jobs := json.loads(printed)):
            return f"cannot find a queued job: exit status {status}\n{printed}"
        self.names["job"] = jobs[0]["id"]
        return None
