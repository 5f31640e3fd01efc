"""A package that is made in one home serves in another one that has nothing: its records, and its
kernels with zero builds. On the fake device, and on the first OpenCL device if there is one."""

import hashlib
import json
import pathlib
import re
import shutil
import subprocess

import program

# With an activation, which CLBlast does not compute: where that could be created within the time it
# would be the default, may win, and is compiled by every process that loads it.
PROBLEM = "gemm@1{m=32,n=32,k=32,act=relu}"


def callers(attune, home, count, **settings):
    """Counters of programs that plan PROBLEM at once with nothing but the package; kernels that they
    kept."""
    environment = {**attune.environment, "HOME": str(home), "XDG_DATA_HOME": str(home / "data"),
                   "XDG_CACHE_HOME": str(home / "cache"), **settings}
    processes = [subprocess.Popen(
        [str(attune.binary.parent / "attune_runtime_caller"), "never", "32", PROBLEM],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(count)]
    counters = []
    for process in processes:
        out, err = process.communicate(timeout=program.TIMEOUT_S)
        program.check(process.returncode == 0, err)
        counters.append({name: int(value) for name, value in
                         (line.split() for line in out.splitlines())})
    return counters, list((home / "cache").rglob("*.kernel"))


def caller(attune, home, **settings):
    counters, kernels = callers(attune, home, 1, **settings)
    return counters[0], kernels


def make(attune, device, solver):
    name = device.replace(":", "")
    (attune.folder / "list.txt").write_text(PROBLEM + "\n")
    attune.run("import", "list.txt", "--tag", name)
    attune.run("tune", "--tag", name, "--device", device, "--solver", solver, "--per-problem", "3s")
    out, _ = attune.run("package", "create", "--tag", name, "--device", device, "-o", name)
    match = re.search(r"(\d+) problems?, (\d+) kernels?, sha256 ([0-9a-f]{64})", out)
    program.check(match and match[1] == "1" and int(match[2]) > 0, out)
    return attune.folder / name, match[3]


def test_device(attune, device, solver):
    package, digest = make(attune, device, solver)
    attune.run("package", "verify", str(package), "--sha256", digest)
    home = attune.folder / f"home-{package.name}"
    home.mkdir()
    pinned = {"ATTUNE_PACKAGES": f"{package}#sha256={digest}", "ATTUNE_DEVICE": device}
    counters, kernels = caller(attune, home, **pinned)
    program.check(counters["is_tuned"] == 1, counters)
    program.check(not kernels, f"Built in spite of the package: {kernels}")

    pinned["ATTUNE_PACKAGES"] = f"{package}#sha256={'0' * 64}"
    counters, _ = caller(attune, home, **pinned)
    program.check(counters["is_tuned"] == 0, f"Another package: {counters}")

    return package, digest


def test_damage(attune, package):
    damaged = pathlib.Path(next(package.glob("kernels/*.kernel")))
    damaged.write_bytes(damaged.read_bytes() + b"x")
    _, err = attune.run("package", "verify", str(package), status=1)
    program.check(damaged.name in err, err)


def test_swapped_index(attune, package, digest):
    """The index of another package is not served under the pin of this one."""
    name = package.name
    attune.run("tune", "--tag", name, "--device", name, "--solver", "fake.tiled", "--retune",
               "--per-problem", "3s")
    attune.run("package", "create", "--tag", name, "--device", name, "-o", "later")
    mixed = attune.folder / "mixed"
    shutil.copytree(package, mixed)
    shutil.copy(attune.folder / "later" / "index", mixed / "index")
    program.check((mixed / "index").read_bytes() != (package / "index").read_bytes(), "One index.")
    home = attune.folder / "home-mixed"
    home.mkdir()
    counters, _ = caller(attune, home, ATTUNE_PACKAGES=f"{mixed}#sha256={digest}",
                         ATTUNE_DEVICE=name)
    program.check(counters["is_tuned"] == 0, f"The index of another package: {counters}")


def test_unlisted_kernels(attune, package):
    """A kernel that the manifest does not name is built here."""
    folder = attune.folder / "unlisted"
    shutil.copytree(package, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"] = {"index": manifest["files"]["index"]}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    digest = hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()
    home = attune.folder / "home-unlisted"
    home.mkdir()
    counters, kernels = caller(attune, home, ATTUNE_PACKAGES=f"{folder}#sha256={digest}",
                               ATTUNE_DEVICE=package.name)
    program.check(counters["is_tuned"] == 1, counters)
    program.check(len(kernels) == 1, f"Not built in spite of the manifest: {counters}")


def test_missing_kernel(attune, device, package, digest):
    """Built once for the user, in the background, and never again."""
    shutil.rmtree(package / "kernels")
    (package / "kernels").mkdir(mode=0o755)
    home = attune.folder / f"home-without-{package.name}"
    home.mkdir()
    pinned = {"ATTUNE_PACKAGES": f"{package}#sha256={digest}", "ATTUNE_DEVICE": device}
    counters, kernels = callers(attune, home, 3, **pinned)
    program.check(all(each["builds_in_caller"] == 0 for each in counters), counters)
    program.check(sum(each["builds_in_background"] for each in counters) == 1, counters)
    program.check(all(each["is_tuned"] == 1 for each in counters), counters)
    program.check(len(kernels) == 1, kernels)

    counters, kernels = caller(attune, home, **pinned)
    program.check(counters["builds_in_caller"] + counters["builds_in_background"] == 0, counters)
    program.check(len(kernels) == 1, kernels)


def test(attune):
    # Launches so long (of a clock of the device's own) that a share of one is enough to create any
    # candidate: what was recorded as slow to create is waited for, as a build, where nothing is
    # ready, and on a busy machine that is anything which took some milliseconds.
    attune.environment["ATTUNE_FAKE_SCRIPT"] = (
        "fake.library time_ns=3000000000;fake.tiled time_ns=2000000000")
    _, err = attune.run("package", "create", "--tag", "none", "-o", "none", status=1)
    program.check("none" in err, err)
    package, digest = test_device(attune, "fake", "fake.tiled")
    test_swapped_index(attune, package, digest)
    test_unlisted_kernels(attune, package)
    test_damage(attune, package)
    test_missing_kernel(attune, "fake", package, digest)
    usable = {device["spec"] for backend in attune.json("devices")["backends"]
              for device in backend["devices"] if device["usable"]}
    if "opencl:0" in usable:
        package, digest = test_device(attune, "opencl:0", "gemm-tiled")
        test_damage(attune, package)
        test_missing_kernel(attune, "opencl:0", package, digest)
    else:
        print("skipped: there is no usable device opencl:0 here")


program.main(test)
