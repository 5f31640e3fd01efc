"""A folder that looks like the root of the repository to the commands of one page, and the rules that
adapt commands to it. Commands write only inside this folder.
"""

import bz2
import gzip
import os
import re
import shutil
import signal
import subprocess

TIMEOUT_S = 120
PLUGINS = ("opencl", "cuda", "hip")  # Not oneDNN: tuning its hundreds of candidates takes long.

# Folders in the documentation, and their replacements.
PLACES = {"/tmp/": "tmp/", "/opt/model/": "model/"}
# Shorter durations, which suffice here.
TIMES = {"--budget": "20s", "--per-problem": "100ms", "--time": "20ms"}
SESSION_TIMES = {"--budget": "100s", "--per-problem": "30s"}  # A golden version needs a decision.
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
    (r"tunable attune_tunable_untuned0.csv", r"RECORD_UNTUNED=1",
     "ATTUNE_TUNABLE_ENABLED=1 ATTUNE_TUNABLE_TUNING=0 ATTUNE_TUNABLE_RECORD_UNTUNED=1 ./program"),
    (r"export --kernel matmul.json", r"tune --kernel matmul.json",
     "attune tune --kernel matmul.json --size m=512,n=512,k=256 --per-problem 2s"),
)


def with_times(command):
    if not re.search(r"\battune\b", command):
        return command
    times = (SESSION_TIMES if "--session" in command else
             KERNEL_TIMES if "--kernel" in command else TIMES)
    for option, time in times.items():
        command = re.sub(rf"{option} \S+", f"{option} {time}", command)
    if re.match(r"attune (?:--db \S+ )?tune ", command) and "--per-problem" not in command:
        command += f" --per-problem {times['--per-problem']}"
    return command


def shorten_list(path, pattern):
    lines = [line.replace("-n 128 ", "-n 1 ").replace("-H 56 -W 56", "-H 8 -W 8")
             for line in path.read_text().splitlines() if re.search(pattern, line)]
    path.write_text("\n".join(lines) + "\n")


class Sandbox:
    def __init__(self, options, path):
        self.path, self.hash, self.made = path, "HASH", set()
        here, root = options.repository / "tests/docs", options.repository
        shutil.copytree(here / "fixtures", path, dirs_exist_ok=True)
        shutil.copytree(root / "examples", path / "examples")
        shutil.copytree(root / "tests/data", path / "tests/data")
        for name, pattern in SHORT_LISTS.items():
            shorten_list(path / name, pattern)
        for copy, original in COPIES.items():
            content = (root / original).read_bytes()
            (path / copy).parent.mkdir(exist_ok=True)
            if original.endswith(".gz") and not copy.endswith(".gz"):
                content = gzip.decompress(content)
            (path / copy).write_bytes(bz2.compress(content) if copy.endswith(".bz2") else content)
        for folder in ("tmp", "model", "home"):
            (path / folder).mkdir()
        for name, binary in (("simulate", "attune_docs_simulate"), ("program", "gemm_in_c")):
            if (options.bin / binary).exists():
                (path / name).symlink_to(options.bin / binary)
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("ATTUNE_", "XDG_"))}
        plugins = [plugin for plugin in PLUGINS if (options.plugins / f"attune_{plugin}.so").exists()]
        self.environment.update({
            "ATTUNE_PLUGINS": ",".join(plugins), "HOME": str(path / "home"), "PATH": f"{options.bin}:{os.environ['PATH']}",
            "ATTUNE_PLUGIN_PATH": str(options.plugins), "TZ": "UTC",
            "ATTUNE_LOCK_FOLDER": str(path / "home"),  # Sandboxes do not wait for each other.
            "OMP_WAIT_POLICY": "passive"})  # Spinning threads disturb the other sandbox.

    def adapted(self, command):
        for place, here in PLACES.items():
            command = command.replace(place, here)
        command = re.sub(r"\bHASH\b", self.hash, command)
        return " && ".join(with_times(part) for part in command.split(" && "))

    def run(self, command):
        """Returns (exit status, output); status None after TIMEOUT_S. Exported variables stay set."""
        script = (f"[ ! -f home/exported ] || . home/exported\n{command}\n"
                  "status=$?\nexport -p > home/exported\nexit $status\n")
        # A file, because a process in the background may hold a pipe open.
        with open(self.path / "home/printed", "w+", errors="replace") as output:
            child = subprocess.Popen(["bash", "-c", script], cwd=self.path, env=self.environment,
                                     stdin=subprocess.DEVNULL, stdout=output,
                                     stderr=subprocess.STDOUT, start_new_session=True)
            try:
                status = child.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                status = None
            output.seek(0)
            printed = output.read()
        if created := re.search(r"\b([0-9a-f]{32,64})\b\s*$", printed):
            self.hash = created[1]
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
        return None
