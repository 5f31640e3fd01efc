"""Kernels that were compiled when attune was installed serve unseen shapes, in a
process whose own cache is empty; what others could have written is not used."""

import json
import os
import pathlib
import shutil
import stat
import subprocess

import program

INSTALLING = pathlib.Path(__file__).parents[2] / "cmake" / "build_installed_kernels.cmake"

BUILT_FOR = "gemm@1{m=997,n=997,k=997,bias=row,act=gelu}"
NEVER_SEEN = "gemm@1{m=1234,n=77,k=333,bias=row,act=gelu}"
KERNEL = "gemm-tiled"


def install(attune):
    """A prefix with what `cmake --install` puts there."""
    prefix = attune.folder / "prefix"
    shutil.copytree(attune.environment["ATTUNE_PLUGIN_PATH"], prefix / "lib" / "attune")
    shutil.copytree(attune.binary.parents[1] / "share" / "attune" / "kernels",
                    prefix / "share" / "attune" / "kernels")
    (prefix / "bin").mkdir()
    shutil.copy2(attune.binary, prefix / "bin" / "attune")
    attune.binary = prefix / "bin" / "attune"
    attune.environment["ATTUNE_PLUGINS"] = "cuda"
    attune.environment["ATTUNE_PLUGIN_PATH"] = str(prefix / "lib" / "attune")
    return prefix / "share" / "attune" / "built"


def state(attune, problem, cache, *words):
    """The state of the kernel if the cache of the user is `cache`."""
    builds = attune.json("build", "--target", "sm_90", "--problem", problem, *words,
                         XDG_CACHE_HOME=str(attune.folder / cache))["builds"]
    return {row["solver"]: row["state"] for row in builds}[f"cuda.{KERNEL}"]


def install_kernels(prefix, targets, environment, status=0):
    """The output of an installation that builds kernels for `targets` into `prefix`."""
    done = subprocess.run(["cmake", f"-DPREFIX={prefix}", f"-DTARGETS={targets}", "-P", str(INSTALLING)],
                          env=environment, capture_output=True, text=True, timeout=60)
    program.check((done.returncode != 0) == (status != 0), f"{done.returncode}: {done.stderr}")
    return done.stdout + done.stderr


def stand_in(folder, devices, build_status):
    """A prefix whose program only tells these devices, and notes what it is asked to build."""
    prefix = folder / f"stand-in-{build_status}-{len(devices)}"
    (prefix / "bin").mkdir(parents=True)
    told = {"backends": [{"name": "host", "devices": [{"arch": "x86-64-v4", "usable": True}]},
                         {"name": "cuda", "devices": devices}]}
    (prefix / "told.json").write_text(json.dumps(told))
    tool = prefix / "bin" / "attune"
    tool.write_text(f"""#!/bin/sh
case "$1" in
devices) cat {prefix}/told.json ;;
build) echo "$@" >> {prefix}/asked; exit {build_status} ;;
esac
""")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    return prefix


def asked(prefix):
    notes = prefix / "asked"
    return [line.split()[3] for line in notes.read_text().splitlines()] if notes.exists() else []


def check_installing(attune):
    """Without a word, kernels are built for the GPUs of the machine; others have to be named."""
    usable = [{"arch": arch, "usable": True} for arch in ("sm_90", "sm_90", "sm_80")]
    absent = {"arch": "sm_70", "usable": False}
    environment = attune.environment

    several = stand_in(attune.folder, usable + [absent], 0)
    install_kernels(several, "native", environment)
    program.check(asked(several) == ["sm_90", "sm_80"], f"each kind once: {asked(several)}")
    program.check(f"--into {several}/share/attune/built" in (several / "asked").read_text(), "where")

    none = stand_in(attune.folder, [absent], 0)
    said = install_kernels(none, "native", environment)
    program.check("No NVIDIA GPU here" in said and not asked(none), said)
    said = install_kernels(none, "native;gfx90a", environment)
    program.check(asked(none) == ["gfx90a"], f"named ones are built: {asked(none)}")
    said = install_kernels(none, "", environment)
    program.check(asked(none) == ["gfx90a"] and "GPU" not in said, f"an empty list builds nothing: {said}")

    # One that is here and cannot be built for costs no installation; one that was named does.
    failing = stand_in(attune.folder, usable[:1], 2)
    said = install_kernels(failing, "native", environment)
    program.check("cannot be built" in said, said)
    install_kernels(failing, "sm_90", environment, status=1)
    partial = stand_in(attune.folder, usable[:1], 3)
    program.check("Not every kernel was built" in install_kernels(partial, "sm_90", environment), "3")

    broken = stand_in(attune.folder, usable[:2], 0)
    (broken / "told.json").unlink()
    said = install_kernels(broken, "native", environment)
    program.check("not known" in said and "No NVIDIA" not in said and not asked(broken), said)


def test(attune):
    check_installing(attune)
    built = install(attune)
    prefix = built.parents[2]
    if not any(device["usable"] for backend in attune.json("devices")["backends"]
               if backend["name"] == "cuda" for device in backend["devices"]):
        said = install_kernels(prefix, "native", attune.environment)
        program.check("No NVIDIA GPU here" in said and not built.exists(), said)
    if not (built.parents[2] / "lib" / "attune" / "attune_cuda.so").exists():
        program.skip("The CUDA backend is not built here.")
    program.check(state(attune, NEVER_SEEN, "first") == "built", "nothing is installed yet")

    program.check(state(attune, BUILT_FOR, "second", "--into", str(built)) == "built", "installs")
    entries = list(built.glob("*.kernel"))
    program.check(entries, f"nothing in {built}")
    modes = {path.stat().st_mode & 0o777 for path in entries}
    program.check(modes == {0o644}, f"modes of entries {modes}")
    program.check(built.stat().st_mode & 0o777 == 0o755, "mode of the folder")

    program.check(state(attune, NEVER_SEEN, "third") == "kept", "the installed kernel serves it")
    program.check(not list((attune.folder / "third").rglob("*.kernel")), "nothing is copied")

    # A folder with other content must not become readable to all users.
    home = attune.folder / "home"
    home.mkdir(mode=0o700)
    (home / "secret").touch(mode=0o600)
    _, err = attune.run("build", "--target", "sm_90", "--problem", BUILT_FOR, "--into", str(home),
                        status=2)
    program.check("'secret', which is no kernel" in err, err)
    program.check(home.stat().st_mode & 0o777 == 0o700, "mode of a folder that was refused")
    program.check((home / "secret").stat().st_mode & 0o777 == 0o600, "mode of what was in it")

    for entry in entries:
        os.chmod(entry, 0o666)
    program.check(state(attune, NEVER_SEEN, "fourth") == "built", "others may have written it")
    for entry in entries:
        os.chmod(entry, 0o644)
    os.chmod(built, 0o775)
    program.check(state(attune, NEVER_SEEN, "fifth") == "built", "others may write to the folder")


program.main(test)
