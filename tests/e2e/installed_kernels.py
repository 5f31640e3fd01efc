"""Kernels that were compiled when attune was installed serve shapes that nobody has seen, in a
process whose own cache is empty; what others could have written is not used."""

import os
import shutil

import program

BUILT_FOR = "gemm@1{m=997,n=997,k=997,bias=row,act=gelu}"
NEVER_SEEN = "gemm@1{m=1234,n=77,k=333,bias=row,act=gelu}"
KERNEL = "gemm-tiled"


def install(attune):
    """A prefix with what `cmake --install` puts there."""
    prefix = attune.folder / "prefix"
    shutil.copytree(attune.environment["ATTUNE_PLUGIN_PATH"], prefix / "lib" / "attune")
    (prefix / "bin").mkdir()
    shutil.copy2(attune.binary, prefix / "bin" / "attune")
    attune.binary = prefix / "bin" / "attune"
    attune.environment["ATTUNE_PLUGINS"] = "cuda"
    attune.environment["ATTUNE_PLUGIN_PATH"] = str(prefix / "lib" / "attune")
    return prefix / "share" / "attune" / "built"


def state(attune, problem, cache, *words):
    """What became of the kernel, where the cache of the user is `cache`."""
    builds = attune.json("build", "--target", "sm_90", "--problem", problem, *words,
                         XDG_CACHE_HOME=str(attune.folder / cache))["builds"]
    return {row["solver"]: row["state"] for row in builds}[f"cuda.{KERNEL}"]


def test(attune):
    built = install(attune)
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

    # A folder with anything else in it is nobody's to open to the world.
    home = attune.folder / "home"
    home.mkdir(mode=0o700)
    (home / "secret").touch(mode=0o600)
    _, err = attune.run("build", "--target", "sm_90", "--problem", BUILT_FOR, "--into", str(home),
                        status=2)
    program.check("'secret', which is no kernel" in err, err)
    program.check(home.stat().st_mode & 0o777 == 0o700, "mode of a folder that was refused")
    program.check((home / "secret").stat().st_mode & 0o777 == 0o600, "mode of what was in it")

    os.chmod(entries[0], 0o666)
    program.check(state(attune, NEVER_SEEN, "fourth") == "built", "others may have written it")
    os.chmod(entries[0], 0o644)
    os.chmod(built, 0o775)
    program.check(state(attune, NEVER_SEEN, "fifth") == "built", "others may write to the folder")


program.main(test)
