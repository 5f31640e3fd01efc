"""`attune build` keeps to the cores that it may use, does without threads that it cannot have, takes
its compilers with it when it is interrupted, opens to everybody what it makes for them, and leaves out
what no multiprocessor has room for. A script stands in for hipcc."""

import contextlib
import json
import os
import pathlib
import resource
import signal
import time

import program

PATIENCE_S = 60


def write_compiler(attune, body):
    """A hipcc that runs `body`, a shell script that leaves the code in kernel.co."""
    path = attune.folder / "hipcc"
    path.write_text("#!/bin/sh\n"
                    'if [ "$1" = --version ]; then echo "HIP version: 9.8.7-6"; exit; fi\n'
                    f"{body}\n")
    path.chmod(0o755)
    attune.environment["ATTUNE_HIPCC"] = str(path)


def words(*more):
    return ["build", "--target", "gfx90a", "--every-kernel", *more]


@contextlib.contextmanager
def changed(setting, value):
    """The umask, the cores or the stack limit of what is started meanwhile."""
    if setting == "umask":
        before = os.umask(value)
        yield
        os.umask(before)
    elif setting == "cores":
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, value)
        yield
        os.sched_setaffinity(0, before)
    else:
        before = resource.getrlimit(resource.RLIMIT_STACK)
        resource.setrlimit(resource.RLIMIT_STACK, (value, before[1]))
        yield
        resource.setrlimit(resource.RLIMIT_STACK, before)


def test_cores(attune):
    busy = attune.folder / "busy"
    overlap = attune.folder / "overlap"
    write_compiler(attune, f"mkdir '{busy}' 2> /dev/null || touch '{overlap}'\n"
                           "sleep 0.02; echo \"$@\" > kernel.co\n"
                           f"rmdir '{busy}' 2> /dev/null; true")
    with changed("cores", {min(os.sched_getaffinity(0))}):
        attune.run(*words(), XDG_CACHE_HOME=str(attune.folder / "one_core"))
    program.check(not overlap.exists(), "two compilers at once on one core")


def test_threads(attune):
    write_compiler(attune, 'echo "$@" > kernel.co')
    # No thread gets a stack of 128 TiB; the first one has its already.
    limit = 1 << 47
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    if hard != resource.RLIM_INFINITY and hard < limit:
        return
    with changed("stack", limit):
        out, err = attune.run(*words(), XDG_CACHE_HOME=str(attune.folder / "no_threads"))
    program.check("hip.gemm-tiled" in out, f"{out}\n{err}")


def test_interruption(attune):
    started = attune.folder / "started"
    # A grandchild, as clang is of hipcc.
    write_compiler(attune, f"sh -c 'echo $$ > {started}.new; mv {started}.new {started}; "
                           "exec sleep 1000'")
    process = attune.start(*words(), XDG_CACHE_HOME=str(attune.folder / "interrupted"))
    end = time.monotonic() + PATIENCE_S
    while not started.exists():
        program.check(time.monotonic() < end, "no compiler was started")
        time.sleep(0.01)
    compiler = int(started.read_text())
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    program.check(process.returncode == 3, f"exit status {process.returncode}: {err}")
    program.check("Interrupted. What was built is kept" in err, err)
    status = pathlib.Path(f"/proc/{compiler}/stat")
    is_gone = not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] == "Z"
    program.check(is_gone, f"compiler {compiler} goes on")


def test_modes(attune):
    write_compiler(attune, 'echo "$@" > kernel.co')
    for umask in (0o077, 0o002, 0):
        folder = attune.folder / f"prefix{umask:o}" / "share" / "built"
        with changed("umask", umask):
            attune.run(*words("--into", f"{folder}/"))
        for made in (folder, folder.parent, folder.parent.parent):
            mode = made.stat().st_mode & 0o777
            program.check(mode == 0o755, f"umask {umask:o}: mode {mode:o} of {made}")
        modes = {path.stat().st_mode & 0o777 for path in folder.glob("*.kernel")}
        program.check(modes == {0o644}, f"umask {umask:o}: modes of entries {modes}")


SIZES = ["m", "n", "k", "lda", "ldb", "ldc", "batch_count", "stride_a", "stride_b", "stride_c"]
HUNGRY = """extern "C" __global__ void hungry(const float* a, const float* b, float* c, int m) {
  float values[200];
  #pragma unroll
  for (int i = 0; i < 200; ++i) values[i] = a[i * 4096 + threadIdx.x];
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < 200; ++i) c[i * m + threadIdx.x] = values[199 - i] * values[i] + b[i];
}
"""


def write_hungry(kernels, name, threads):
    """A kernel file whose default are blocks of `threads` threads with some 200 registers each."""
    (kernels / f"{name}.json").write_text(json.dumps({
        "attune_kernel_file": 2, "language": "cuda", "name": name, "version": 1,
        "description": "Holds much", "operator": "gemm", "sources": ["hungry.cu"],
        "sizes": {"run_time": SIZES, "compile_time": []},
        "applies": ["type == 'f32'"], "parameters": [{"name": "WG", "values": [threads]}], "constraints": [],
        "launches": [{"function": "hungry", "local": ["WG", 1], "groups": ["1", "1"],
                      "arguments": [{"operand": "a"}, {"operand": "b"}, {"operand": "c"},
                                    {"int": "m"}]}]}))


def test_room(attune):
    """Kernels of a user's, one with more registers in a block than there are; of its own plug-in."""
    kernels = attune.folder / "kernels"
    kernels.mkdir()
    (kernels / "hungry.cu").write_text(HUNGRY)
    write_hungry(kernels, "hungry", 1024)
    write_hungry(kernels, "modest", 128)
    build = ["build", "--target", "sm_90", "--problem", "gemm@1{m=8,n=8,k=8}"]
    places = {"ATTUNE_PLUGINS": "cuda", "ATTUNE_KERNEL_PATH": str(kernels)}
    rows = {row["solver"]: row for row in attune.json(*build, **places)["builds"]}
    if rows["cuda.gemm-tiled"]["state"] == "left out":
        return  # There is no compiler.
    # 65536 registers are two blocks of 128 threads with 200 to 255 each.
    program.check(rows["cuda.modest"]["blocks_per_multiprocessor"] == 2, str(rows["cuda.modest"]))
    program.check(rows["cuda.gemm-tiled"]["blocks_per_multiprocessor"] >= 1, str(rows["cuda.gemm-tiled"]))
    out, _ = attune.run(*build, **places)
    program.check("blocks/SM" in out.splitlines()[0], out)
    row = rows["cuda.hungry"]
    program.check(row["blocks_per_multiprocessor"] is None, str(row))
    program.check(row["state"] == "left out", str(row))
    program.check("has no room for one block of kernel 'hungry': 1024 threads" in row["reason"]
                  and "too much of its registers" in row["reason"], str(row))


def test(attune):
    plugins = pathlib.Path(attune.environment["ATTUNE_PLUGIN_PATH"])
    if (plugins / "attune_cuda.so").exists():
        test_room(attune)
    if not (plugins / "attune_hip.so").exists():
        program.skip("The HIP backend is not built here.")
    attune.environment["ATTUNE_PLUGINS"] = "hip"
    test_cores(attune)
    test_threads(attune)
    test_interruption(attune)
    test_modes(attune)


program.main(test)
