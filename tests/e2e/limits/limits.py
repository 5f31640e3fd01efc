#!/usr/bin/env python3
"""Programs under resource limits give the same results with attune as without, and exit as soon.

A cell is a run of a program under a limit: untuned, with a database, or with a solver that is forced or
named in a results file. The program computes, checks every product and prints when it leaves main().
The programs are limited_blas.c under `attune blas`, on a plain BLAS and on OpenBLAS, and limited_calls.c
on libattune. A cell passes if the program is right, exits with 0 in time, and takes no longer from
main() to its end.

  limits.py --bin DIR --programs DIR [--long]

limits_in_vm.sh runs the cells of cgroups under version 2. Cells that this machine cannot run are printed
with the reason. Exit status: 0, 1 if a cell fails, 77 if there is nothing to run.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from urllib.parse import quote

TIME_LIMIT_S = 20
EXIT_LIMIT_S = 0.5
BARE_RUNS = 4                  # OpenBLAS survives some limits now and then.
MB = 1024 * 1024

SQUARE = "gemm@1{m=200,n=200,k=200,beta=one,align=4}"
SCALED = "gemm@1{m=61,n=47,k=300,ta=t,type=f64,alpha=other,beta=other,align=8}"
VECTOR = "gemm@1{m=150,n=1,k=220,align=4}"
ADDED_VECTOR = "gemm@1{m=150,n=1,k=220,beta=one,align=4}"
WIDE = "conv@1{dir=fwd,n=2,c=16,h=20,w=20,k=16,fh=3,fw=3,ph=1,pw=1,align=4}"
POINTWISE = "conv@1{dir=fwd,n=2,c=16,h=20,w=20,k=16,fh=1,fw=1,align=4}"
WIDE_TO_ONE = "conv@1{dir=fwd,n=2,c=16,h=20,w=20,k=1,fh=3,fw=3,ph=1,pw=1,align=4}"
POINTWISE_TO_ONE = "conv@1{dir=fwd,n=2,c=16,h=20,w=20,k=1,fh=1,fw=1,align=4}"
SOFTMAX = "softmax@2{outer=64,length=300,align=4}"
BATCH_NORM = "batch_norm@1{n=4,c=16,h=20,w=20,affine=0,align=4}"

# The problems that each solver computes, as `attune solvers --problem` prints. The flavours of BLIS use
# different threads.
EVERY_PRODUCT = (SQUARE, SCALED, VECTOR, ADDED_VECTOR)
PRODUCTS = {"openblas": EVERY_PRODUCT, "blis": EVERY_PRODUCT, "blis-pthread": EVERY_PRODUCT,
            "onednn": (SQUARE, VECTOR, ADDED_VECTOR), "libxsmm": (SQUARE, VECTOR, ADDED_VECTOR),
            "eigen": EVERY_PRODUCT, "packed": EVERY_PRODUCT, "gemv": (VECTOR, ADDED_VECTOR),
            "reference": EVERY_PRODUCT}
CONVOLUTIONS = {**{name: {WIDE: f"host.im2col-{name}", POINTWISE: f"host.conv1x1-{name}"}
                   for name in ("openblas", "blis", "onednn", "libxsmm", "eigen", "packed", "reference")},
                "gemv": {WIDE_TO_ONE: "host.im2col-gemv", POINTWISE_TO_ONE: "host.conv1x1-gemv"},
                "onednn-conv": {WIDE: "host.onednn-conv", POINTWISE: "host.onednn-conv"},
                "direct": {WIDE: "host.direct-conv", POINTWISE: "host.direct-conv"},
                "reference-conv": {WIDE: "host.reference-conv", POINTWISE: "host.reference-conv"}}
NORMALISATIONS = {"softmax": {SOFTMAX: "host.softmax"}, "onednn-softmax": {SOFTMAX: "host.onednn-softmax"},
                  "batch_norm": {BATCH_NORM: "host.batch_norm"},
                  "onednn-batch_norm": {BATCH_NORM: "host.onednn-batch_norm"}}
ONE_THREAD = "openblas on one thread"
BLIS_WITH_POSIX_THREADS = "blis-pthread/libblis.so.4"


def choices(name):
    """Returns {problem: solver} for one implementation."""
    solver = f"host.{name.removesuffix('-pthread')}-gemm"
    found = {problem: solver for problem in PRODUCTS.get(name, ())}
    found.update(CONVOLUTIONS.get(name, {}))
    found.update(NORMALISATIONS.get(name, {}))
    return found


def check_all_solvers_have_cells(attune):
    """Ends the program if a solver of the processor has no cell."""
    listed = subprocess.run([str(attune), "solvers", "--json"], capture_output=True, text=True, check=True)
    names = {solver["name"] for solver in json.loads(listed.stdout) if solver["backend"] == "host"}
    covered = {solver for name in (*PRODUCTS, *CONVOLUTIONS, *NORMALISATIONS)
               for solver in choices(name).values()}
    if names - covered:
        raise SystemExit(f"limits.py: no cell has {', '.join(sorted(names - covered))}")


@dataclasses.dataclass(frozen=True)
class Limit:
    """A limit that bash sets before the program starts, or that the program's steps set."""
    name: str
    steps: str
    shell: str = ""            # {pids}, {memory}: its cgroup folders; {setpriv}: runs it as another user.
    needs: str = ""            # "pids", "memory", "memory.high", "uid"
    serves: bool = False       # True if enough is left: attune must compute.
    programs: tuple = ()       # The programs that can meet it; all if empty.
    long: bool = False         # True if it needs --long, as most results files do.


PRELOADED = ("blas", "openblas", ONE_THREAD)    # In libattune's own callers nothing else can compute.
JOIN_PIDS = "echo $$ > {pids}/cgroup.procs; "
JOIN_MEMORY = "echo $$ > {memory}/cgroup.procs; "
LIMITS = (
    Limit("pids: nothing left", "products products", "echo 1 > {pids}/pids.max; " + JOIN_PIDS, "pids"),
    Limit("pids: nothing left since it began", "begin pids={pids}/pids.max:1 products products", JOIN_PIDS,
          "pids"),
    Limit("pids: one thread left", "products thread threads=1 products", "echo 2 > {pids}/pids.max; " + JOIN_PIDS,
          "pids"),
    Limit("pids: ten left", "products threads=4 products", "echo 11 > {pids}/pids.max; " + JOIN_PIDS, "pids",
          long=True),
    Limit("pids: plenty", "products threads=4 products", "echo 200 > {pids}/pids.max; " + JOIN_PIDS, "pids",
          serves=True),
    Limit("pids: nothing left any more", "products pids={pids}/pids.max:1 products", JOIN_PIDS, "pids",
          serves=True),
    Limit("pids: nothing left after a fork", "products fork pids={pids}/pids.max:1 products products",
          JOIN_PIDS, "pids"),
    Limit("pids: nothing left in the group above", "products products",
          "mkdir {pids}/leaf; echo 1 > {pids}/pids.max; echo $$ > {pids}/leaf/cgroup.procs; ", "pids", long=True),
    Limit("user's processes: nothing left", "products products", "ulimit -u 1; {setpriv}", "uid"),
    Limit("user's processes: one left", "products thread products", "ulimit -u 2; {setpriv}", "uid",
          long=True),
    Limit("user's processes: plenty", "products threads=4", "ulimit -u 200; {setpriv}", "uid", serves=True,
          long=True),
    Limit("system calls: no thread", "filter products products"),
    Limit("system calls: no thread since it began", "begin filter products products", long=True),
    Limit("system calls: killed for threads and files", "killing products products", programs=PRELOADED),
    Limit("system calls: killed since it computed", "products wait=300 killing products others others",
          programs=PRELOADED),
    Limit("system calls: killed for files, with new threads", "products wait=300 sandbox threads=2 others",
          programs=PRELOADED),
    Limit("system calls: killed for files, main thread last", "stack=8192 wait=300 sandbox products",
          programs=PRELOADED),
    Limit("threads of the BLAS: one", "blas-threads=1 products wait=300 alone=30", programs=("openblas",)),
    Limit("threads of the BLAS: one since it computed",
          "products wait=300 blas-threads=1 alone=30 others blas-threads=2 products", programs=("openblas",),
          serves=True),
    Limit("locked memory: 2 MB", "lock=2 products products", "{setpriv}", "uid"),
    Limit("locked memory: 2 MB since it computed", "products lock=2 products others", "{setpriv}", "uid",
          long=True),
    Limit("address space: 400 MB", "products threads=2 products", "ulimit -v 400000; "),
    Limit("address space: 500 MB", "products threads=2 products", "ulimit -v 512000; ", long=True),
    Limit("address space: 1 GB", "products threads=2 products", "ulimit -v 1024000; ", long=True),
    Limit("address space: plenty", "products threads=2 products", "ulimit -v 8192000; "),
    Limit("address space: 2 MB left", "products wait=300 as=2 products"),
    Limit("address space: 2 MB left since it began", "begin as=2 products products"),
    Limit("address space: nothing left any more", "products wait=300 as=0 products"),
    Limit("address space: 2 MB left, and new problems", "products wait=300 as=2 others", long=True),
    Limit("address space: 100 MB left", "products wait=300 as=100 products threads=2 products", long=True),
    Limit("data: 100 MB", "products threads=2 products", "ulimit -d 102400; "),
    Limit("data: 2 MB left", "products wait=300 data=2 products", long=True),
    Limit("stack of the thread: 128 KiB", "stack=128 stack=128 products stack=128"),
    Limit("stack of the thread: 200 KiB", "stack=200 stack=200 products stack=200", long=True),
    Limit("stack of the thread: 512 KiB", "stack=512 products stack=512", serves=True, long=True),
    Limit("stack of the program: 64 KiB", "products threads=2 products", "ulimit -s 64; "),
    Limit("stack of the program: 300 KiB", "products threads=2 products", "ulimit -s 300; ", long=True),
    Limit("stack of a coroutine: 64 KiB", "coroutine=64 products coroutine=64"),
    Limit("stack of a signal", "signal products signal", long=True),
    Limit("open files: nothing left", "nofile=0 products products", "ulimit -n 64; "),
    Limit("open files: four left", "nofile=4 products products", "ulimit -n 64; ", long=True),
    Limit("open files: nothing left any more", "products nofile=0 products threads=2", "ulimit -n 256; "),
    Limit("memory cgroup: 64 MB", "products threads=2 products",
          "echo 64M > {memory}/{memory_file}; " + JOIN_MEMORY, "memory"),
    Limit("memory cgroup: 64 MB before it waits", "products threads=2 products",
          "echo 64M > {memory}/memory.high; " + JOIN_MEMORY, "memory.high", long=True),
    Limit("memory cgroup: 2 GB", "products threads=2 products",
          "echo 2G > {memory}/{memory_file}; " + JOIN_MEMORY, "memory", serves=True, long=True),
    Limit("size of files: 0", "products products", "ulimit -f 0; "),
)


# The limits, one of each kind, under which a results file names each solver without --long.
RESULTS_LIMITS = ("pids: nothing left", "user's processes: nothing left", "address space: 400 MB",
                  "stack of the thread: 128 KiB", "open files: nothing left", "memory cgroup: 64 MB")


@dataclasses.dataclass(frozen=True)
class Cell:
    program: str
    limit: Limit
    mode: str                  # "untuned", "forced", "results", "database"
    solver: str = ""

    def __str__(self):
        return f"{self.program}, {self.limit.name}, {self.mode} {self.solver}".rstrip()


class Cgroups:
    """Cgroup folders for the processes of one cell, version 1 or 2. Needs root."""

    def __init__(self):
        root = pathlib.Path("/sys/fs/cgroup")
        self.is_v2 = (root / "cgroup.controllers").exists()
        self.others = root / f"attune_limits_{os.getpid()}_others"
        self.missing = {}
        self.parents = {}
        for controller in ("pids", "memory"):
            reason = self.find(root, controller)
            if reason is not None:
                self.missing[controller] = reason
        if "memory" in self.missing:
            self.missing["memory.high"] = self.missing["memory"]
        elif not self.is_v2:
            self.missing["memory.high"] = "cgroups of version 1 have no memory.high"

    def find(self, root, controller):
        """Returns the reason why a cell cannot have a group of the controller; None if it can."""
        if os.geteuid() != 0:
            return "only root can make a cgroup"
        parent = root if self.is_v2 else root / controller
        if not parent.is_dir():
            return f"the {controller} controller is not mounted"
        try:
            if self.is_v2:
                self.leave(root)
                (root / "cgroup.subtree_control").write_text(f"+{controller}")
            self.parents[controller] = parent
            trial = self.make(controller, "trial")
            subprocess.run(["/bin/sh", "-c", f"echo $$ > {trial}/cgroup.procs"], check=True)
            self.remove(trial)
        except (OSError, subprocess.CalledProcessError) as error:
            return f"a {controller} cgroup cannot be used: {error}"
        return None

    def leave(self, root):
        """Moves the processes of a container to a leaf. Above it, version 2 permits none."""
        is_container = (root / "cgroup.type").exists()
        if is_container and (root / "cgroup.procs").read_text() and not self.others.exists():
            self.others.mkdir()
            self.move(root, self.others)

    def close(self):
        """Moves the processes of a container back."""
        if self.others.exists():
            root = self.others.parent
            (root / "cgroup.subtree_control").write_text("-pids -memory")
            self.move(self.others, root)
            self.others.rmdir()

    @staticmethod
    def move(source, target):
        for process in (source / "cgroup.procs").read_text().split():
            try:
                (target / "cgroup.procs").write_text(process)
            except ProcessLookupError:
                pass

    def memory_file(self):
        return "memory.max" if self.is_v2 else "memory.limit_in_bytes"

    def make(self, controller, name):
        folder = self.parents[controller] / f"attune_limits_{os.getpid()}_{name}"
        folder.mkdir()
        return folder

    @staticmethod
    def remove(folder):
        for child in folder.iterdir():
            if child.is_dir():
                Cgroups.remove(child)
        for _ in range(500):
            for process in (folder / "cgroup.procs").read_text().split():
                try:
                    os.kill(int(process), 9)
                except ProcessLookupError:
                    pass
            try:
                folder.rmdir()
                return
            except OSError:
                time.sleep(0.01)


class Matrix:
    def __init__(self, options, folder):
        self.bin = options.bin.resolve()
        self.programs = options.programs.resolve()
        self.folder = folder
        self.is_long = options.long
        self.patience = options.patience
        self.cgroups = Cgroups()
        self.skipped = []
        self.first_uid = random.randrange(20_000, 40_000) * 10
        self.number = 0
        self.bare = {}
        self.database = folder / "tuned.db"

    # -- what runs --

    def command(self, cell):
        """Returns the command of a cell and its additional variables."""
        variables = {"ATTUNE_DB": "", "ATTUNE_POLICY": "never", "ATTUNE_BLAS_STATS": "1",
                     "OMP_WAIT_POLICY": "passive"}
        if cell.solver == "blis-pthread":
            variables["ATTUNE_BLIS"] = str(self.library(BLIS_WITH_POSIX_THREADS))
        if cell.mode == "forced":
            variables["ATTUNE_FORCE"] = "; ".join(
                f"{problem} -> {solver}" for problem, solver in choices(cell.solver).items())
        elif cell.mode == "results":
            variables["ATTUNE_TUNABLE_ENABLED"] = "1"
            variables["ATTUNE_TUNABLE_FILENAME"] = str(self.results_of(cell.solver))
        elif cell.mode == "database":
            variables["ATTUNE_DB"] = str(self.database)
            del variables["ATTUNE_POLICY"]
        program, variables_of_program = self.program(cell.program)
        variables.update(variables_of_program)
        words = [program] if cell.program == "calls" else [str(self.bin / "attune"), "blas", "--", program]
        return words, variables

    def program(self, name):
        """Returns the path of a program and its variables."""
        file = self.programs / f"attune_test_limited_{name.split()[0]}"
        return str(file), {"OPENBLAS_NUM_THREADS": "1"} if name == ONE_THREAD else {}

    def results_of(self, solver):
        """Returns a results file that names `solver` for each problem that it computes."""
        path = self.folder / f"{solver}.csv"
        if not path.exists():
            lines = [f"AttuneProblem_{problem.split('@')[0]},{quote(problem, safe=' ._+-')},{name}\n"
                     for problem, name in choices(solver).items()]
            path.write_text("".join(lines))
        return path

    @staticmethod
    def library(name):
        found = sorted(pathlib.Path("/usr/lib").glob(f"*/{name}"))
        return found[0] if found else None

    def run(self, limit, words, variables):
        """Returns (exit status or None for a hang, output, seconds from main() to its end or None)."""
        self.number += 1
        name = str(self.number)
        places = {"memory_file": self.cgroups.memory_file()}
        made = []
        for controller in ("pids", "memory"):
            if "{" + controller + "}" in limit.shell + limit.steps:
                made.append(self.cgroups.make(controller, name))
                places[controller] = str(made[-1])
        uid = self.first_uid + self.number
        places["setpriv"] = f"exec setpriv --reuid={uid} --regid={uid} --clear-groups "
        # A limit that the shell cannot set fails the cell. Debian's sh has no `ulimit -u`.
        shell = "set -e; " + limit.shell.format(**places)
        steps = limit.steps.format(**places).split()
        script = shell + '"$@"' if shell.rstrip().endswith("--clear-groups") else shell + 'exec "$@"'
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("ATTUNE_") and not key.endswith("NUM_THREADS")}
        environment.update(variables)
        process = subprocess.Popen(["/bin/bash", "-c", script, "bash", *words, *steps], env=environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   cwd=self.folder, start_new_session=True)
        try:
            printed, _ = process.communicate(timeout=TIME_LIMIT_S * self.patience)
            end = time.monotonic()
            status = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            printed, _ = process.communicate()
            end, status = None, None
        for folder in made:
            self.cgroups.remove(folder)
        left = re.search(r"^right ([\d.]+)$", printed, re.MULTILINE)
        return status, printed, end - float(left[1]) if left and end else None

    # -- cells --

    def cells(self):
        for program in ("blas", "openblas", ONE_THREAD, "calls"):
            for limit in LIMITS:
                if (limit.long and not self.is_long) or program not in (limit.programs or (program,)):
                    continue
                yield from self.cells_of(program, limit)

    def cells_of(self, program, limit):
        yield Cell(program, limit, "untuned")
        yield Cell(program, limit, "database")
        # On OpenBLAS the same candidates run. Only the library that they share with it differs.
        is_same = program.startswith("openblas") and not limit.name.startswith("threads of the BLAS")
        names = ["openblas"] if is_same else list(PRODUCTS)
        if program == "calls":
            names += [name for name in (*CONVOLUTIONS, *NORMALISATIONS) if name not in names]
        for name in names:
            yield Cell(program, limit, "forced", name)
            if self.is_long or limit.name in RESULTS_LIMITS:
                yield Cell(program, limit, "results", name)

    def why_not(self, cell):
        """Returns the reason why the cell cannot run here; None if it can."""
        if not os.path.exists(self.program(cell.program)[0]):
            return "the BLAS that the program is linked with is not installed"
        if cell.limit.needs in self.cgroups.missing:
            return self.cgroups.missing[cell.limit.needs]
        if cell.limit.needs == "uid" and (os.geteuid() != 0 or shutil.which("setpriv") is None):
            return "only root with setpriv can run a program as another user"
        if cell.solver == "blis-pthread" and self.library(BLIS_WITH_POSIX_THREADS) is None:
            return "libblis4-pthread is not installed"
        return self.why_not_bare(cell)

    def why_not_bare(self, cell):
        """Returns a reason if the program fails without attune, too: such a cell tests nothing."""
        if cell.program == "calls":
            return None
        key = (cell.program, cell.limit.name)
        if key not in self.bare:
            program, variables = self.program(cell.program)
            self.bare[key] = None
            for _ in range(BARE_RUNS):
                status, printed, _ = self.run(cell.limit, [program], variables)
                if status == 0:
                    continue
                said = "it hangs" if status is None else f"status {status} {printed.strip()[:100]!r}"
                self.bare[key] = f"without attune the program fails, too: {said}"
                break
        return self.bare[key]

    def failure(self, cell):
        """Runs the cell and returns its failure; None if it passes."""
        status, printed, exit_s = self.run(cell.limit, *self.command(cell))
        exit_limit_s = EXIT_LIMIT_S * self.patience
        if status == 0 and exit_s is not None and exit_s > exit_limit_s:
            # Repeated, because a busy machine can delay one exit.
            status, printed, exit_s = self.run(cell.limit, *self.command(cell))
        if status is None:
            return f"hangs; printed {printed.strip()!r}"
        if status != 0 or exit_s is None:
            return f"exit status {status}; printed {printed.strip()!r}"
        if exit_s > exit_limit_s:
            return f"takes {exit_s:.2f} s to exit"
        if cell.program != "calls" and cell.limit.serves:
            served = re.search(r"(\d+) calls served", printed)
            if served is None or int(served[1]) == 0:
                return f"attune serves nothing; printed {printed.strip()!r}"
        said = printed.count("ATTUNE_FORCE is")
        if said > 1 or (said == 1 and cell.mode != "forced"):
            return f"says it {said} times; printed {printed.strip()!r}"
        return None

    def make_database(self):
        """Makes a database with the tuned problems of the programs."""
        shutil.rmtree(self.folder / "state", ignore_errors=True)
        tuned = subprocess.run(
            [str(self.bin / "attune"), "tune", "--db", str(self.database), "--per-problem", "0",
             "--candidates", "12", *[word for problem in (*EVERY_PRODUCT, WIDE, POINTWISE, SOFTMAX, BATCH_NORM)
                                     for word in ("--problem", problem)]],
            capture_output=True, text=True, timeout=120 * self.patience)
        if tuned.returncode != 0:
            raise SystemExit(f"limits.py: cannot tune: {tuned.stderr}")
        for path in self.folder.glob("*"):
            path.chmod(0o666)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--long", action="store_true", help="every limit, not only the tight ones")
    parser.add_argument("--only", action="append", help="cells whose name has this, or another --only")
    parser.add_argument("--patience", type=float, default=1, help="factor for the time limits")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="attune_limits_") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o777)
        check_all_solvers_have_cells(options.bin / "attune")
        matrix = Matrix(options, folder)
        try:
            matrix.make_database()
            return run_all(matrix, options.only or [""])
        finally:
            matrix.cgroups.close()


def run_all(matrix, only):
    failed = []
    skipped = {}
    runs = []
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for cell in matrix.cells():
            if not any(text in str(cell) for text in only):
                continue
            reason = matrix.why_not(cell)
            if reason is not None:
                print(f"skipped: {cell}: {reason}")
                skipped[cell] = reason
                continue
            runs.append((cell, pool.submit(matrix.failure, cell)))
        for cell, run in runs:
            failure = run.result()
            if failure is not None:
                print(f"FAILED: {cell}: {failure}", flush=True)
                failed.append(cell)
    print(f"limits: {len(runs) - len(failed)} cells pass, {len(failed)} fail, {len(skipped)} skipped, in "
          f"{time.monotonic() - begin:.0f} s")
    if not runs:
        return 77
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
