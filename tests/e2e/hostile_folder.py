#!/usr/bin/env python3
"""Installs attune and starts its programs in many ways, from a folder full of decoys.

  hostile_folder.py --build FOLDER --source FOLDER --caller PROGRAM

A program that searches its parts by argv[0], or in the current folder, loads or runs a decoy. The
decoy leaves a mark. The caller is tests/blas/blas_caller.c.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

OPTIONS = None
INSTALLED = None  # An Installation.
TIMEOUT_S = 60

DECOY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
__attribute__((constructor)) static void Mark(void) {
  Dl_info here;
  FILE* file = fopen(MARK, "a");
  dladdr((void*)Mark, &here);
  fprintf(file, "%s was loaded by %s\n", here.dli_fname, program_invocation_name);
  fclose(file);
}
const void* attune_plugin(void) { return 0; }
"""
# Starts a program with any argv: FORGER PROGRAM none|empty|NAME WORD...
FORGER = r"""
#include <string.h>
#include <unistd.h>
int main(int count, char** words) {
  const char* program = words[1];
  (void)count;
  if (strcmp(words[2], "none") == 0) {
    char* none[] = {NULL};
    execv(program, none);
  } else {
    if (strcmp(words[2], "empty") == 0) words[2] = "";
    execv(program, words + 2);
  }
  return 127;
}
"""
LIBRARIES = ("attune_onednn.so", "attune_opencl.so", "attune_cuda.so", "attune_hip.so",
             "attune_fake.so", "libattune.so", "libattune.so.1", "libattune_blas.so",
             "libattune_cublas.so", "libattune_capture.so", "libopenblas.so.0", "libblis.so.4",
             "libdnnl.so.2", "libdnnl.so.3", "libOpenCL.so.1", "libclblast.so.1", "libcuda.so.1",
             "libnvrtc.so.12", "libcublasLt.so.12", "libcudnn.so.9", "libsqlite3.so.0",
             "libsoci_core.so.4.0", "libnvidia-ml.so.1", "libxsmm.so.1")
PROGRAMS = ("attune", "attune-evaluator", "attune-tuner", "attune-reaper", "hipcc", "fin")


class Installation:
    def __init__(self, work):
        self.work = work
        self.prefix = work / "prefix"
        self.mark = work / "mark"
        self.hostile = work / "hostile" / "bin"
        subprocess.run(["cmake", "--install", str(OPTIONS.build), "--prefix", str(self.prefix)],
                       check=True, stdout=subprocess.DEVNULL)
        self.forger = self.compile("forger", FORGER)
        self.decoy = self.compile("decoy.so", DECOY.replace("MARK", f'"{self.mark}"'), "-shared",
                                  "-fPIC")
        # Every folder that a relative path could reach from here.
        places = [self.hostile / place for place in (
            ".", "attune", "lib", "lib/attune", "bin", "libexec/attune", "../lib", "../lib/attune",
            "../libexec/attune", "../attune", "share/attune/kernels", "../share/attune/kernels",
            "kernels")]
        for place in places:
            place.mkdir(parents=True, exist_ok=True)
        for place in places:
            self.fill(place)

    def compile(self, name, text, *options):
        source = self.work / f"{name}.c"
        source.write_text(text)
        target = self.work / name
        subprocess.run(["cc", *options, str(source), "-o", str(target)], check=True)
        return target

    def fill(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name in LIBRARIES:
            if not (folder / name).is_dir():
                shutil.copy(self.decoy, folder / name)
        for name in PROGRAMS:
            if not (folder / name).is_dir():
                (folder / name).write_text(f"#!/bin/sh\necho $0 was run >> {self.mark}\nexit 9\n")
                (folder / name).chmod(0o755)
        (folder / "evil.json").write_text("{ this is no kernel file")

    def programs(self):
        return sorted([*(self.prefix / "bin").iterdir(), *(self.prefix / "libexec/attune").iterdir()])


def environment(folder, **variables):
    clean = {key: value for key, value in os.environ.items()
             if not key.startswith(("ATTUNE_", "XDG_", "LD_"))}
    return {**clean, "HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"),
            "XDG_CACHE_HOME": str(folder / "cache"), "ATTUNE_LOCK_FOLDER": str(folder), **variables}


def ways_to_start(program, work):
    """Returns {way of starting: (command, variables)}."""
    links = work / f"links-{program.name}"
    links.mkdir(exist_ok=True)
    link = links / program.name
    if not link.is_symlink():
        link.symlink_to(program)
    path = os.environ.get("PATH", "/usr/bin:/bin")
    forge = [str(INSTALLED.forger), str(program)]
    relative = os.path.relpath(program, INSTALLED.hostile)
    return {
        "its path": ([str(program)], {}),
        "a relative path": ([relative], {}),
        "PATH": (["env", program.name], {"PATH": f"{program.parent}:{path}"}),
        "a relative folder in PATH": (["env", program.name],
                                      {"PATH": f"{os.path.dirname(relative)}:{path}"}),
        "a link": ([str(link)], {}),
        "a link in PATH": (["env", program.name], {"PATH": f"{links}:{path}"}),
        "a name": ([*forge, program.name], {}),
        "another name": ([*forge, "python3"], {}),
        "a path from here": ([*forge, f"./{program.name}"], {}),
        "a path to nowhere": ([*forge, "/nonexistent/bin/attune"], {}),
        "an empty name": ([*forge, "empty"], {}),
    }


class Decoys(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="attune-home-")
        self.addCleanup(holder.cleanup)
        self.home = pathlib.Path(holder.name)

    def tearDown(self):
        if INSTALLED.mark.exists():
            what = INSTALLED.mark.read_text()
            INSTALLED.mark.unlink()
            self.fail(what)

    def run_here(self, command, **variables):
        return subprocess.run(command, cwd=INSTALLED.hostile, env=environment(self.home, **variables),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=TIMEOUT_S)

    def attune(self, *words, **variables):
        done = self.run_here([str(INSTALLED.prefix / "bin/attune"), *words], **variables)
        self.assertEqual(done.returncode, 0, (words, done.stderr))
        return done


class Starts(Decoys):
    def test_every_program_in_every_way(self):
        words = {"attune": ["devices", "--json"], "attune-tuner": ["--db", "t.db"]}
        for program in INSTALLED.programs():
            expected = None
            for how, (command, variables) in ways_to_start(program, INSTALLED.work).items():
                with self.subTest(program=program.name, how=how):
                    done = self.run_here([*command, *words.get(program.name, [])], **variables)
                    self.assertGreaterEqual(done.returncode, 0, done.stderr)
                    expected = expected or (done.returncode, done.stdout)
                    self.assertEqual((done.returncode, done.stdout), expected, done.stderr)

    def test_the_own_plug_ins_are_found_however_it_is_started(self):
        program = INSTALLED.prefix / "bin/attune"
        built = {path.name.removeprefix("attune_").removesuffix(".so")
                 for path in (INSTALLED.prefix / "lib/attune").glob("attune_*.so")}
        for how, (command, variables) in ways_to_start(program, INSTALLED.work).items():
            with self.subTest(how):
                text = self.run_here([*command, "devices", "--json"], **variables).stdout
                self.assertNotIn("was not built or installed", text)
                names = {backend["name"] for backend in json.loads(text)["backends"]}
                self.assertLessEqual(built & {"opencl", "cuda"}, names)
                self.assertNotIn(str(INSTALLED.hostile), text)

    def test_as_an_argument_of_the_loader(self):
        program = INSTALLED.prefix / "bin/attune"
        header = subprocess.run(["readelf", "-l", str(program)], check=True, capture_output=True,
                                text=True).stdout
        loader = header.split("interpreter: ")[1].split("]")[0]
        for preload in ("", "libgomp.so.1"):
            with self.subTest(preload):
                done = self.run_here([loader, str(program), "devices", "--json"], LD_PRELOAD=preload)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("backends", json.loads(done.stdout))

    def test_without_any_argument_nothing_crashes(self):
        for program in INSTALLED.programs():
            done = self.run_here([str(INSTALLED.forger), str(program), "none"])
            self.assertGreaterEqual(done.returncode, 0, program)

    def test_tuning_finds_its_helpers(self):
        for how, (command, variables) in ways_to_start(INSTALLED.prefix / "bin/attune",
                                                       INSTALLED.work).items():
            if how not in ("PATH", "a link", "a path from here", "an empty name"):
                continue
            with self.subTest(how):
                done = self.run_here(
                    [*command, "tune", "--problem", "gemm@1{m=8,n=8,k=8}", "--per-problem", "0.1s",
                     "--retune", "--db", f"{self.home}/t.db"], **variables)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_else_is_preloaded_is_that_of_the_folder_of_the_start(self):
        other = self.home / "other.so"
        shutil.copy(INSTALLED.decoy, other)
        done = self.run_here(["sh", "-c", 'cd "$0" && LD_PRELOAD=./other.so exec "$@"',
                              str(self.home), str(INSTALLED.prefix / "bin/attune"), "blas", "--",
                              "sh", "-c", "cd / && env"])
        INSTALLED.mark.unlink()  # The user's own wish.
        self.assertIn(f":{self.home}/./other.so\n", done.stdout)
        self.assertNotIn("cannot be preloaded", done.stderr)

    def test_what_is_preloaded_from_a_folder_with_a_separator_is_refused(self):
        for name in ("a b", "a:b"):
            folder = self.home / name
            folder.mkdir()
            shutil.copy(INSTALLED.decoy, folder / "other.so")
            shutil.copytree(folder, INSTALLED.hostile / "b", dirs_exist_ok=True)
            done = self.run_here(["sh", "-c", 'cd "$0" && LD_PRELOAD=./other.so exec "$@"',
                                  str(folder), str(INSTALLED.prefix / "bin/attune"), "blas", "--",
                                  "sh", "-c", f"cd {INSTALLED.hostile}; true"])
            INSTALLED.mark.unlink()  # The user's own wish.
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("a space or a colon", done.stderr)

    def test_a_program_under_the_preload_library_finds_its_tuner(self):
        caller = self.home / "caller"
        shutil.copy(OPTIONS.caller, caller)
        database = self.home / "t.db"
        done = self.run_here([str(INSTALLED.prefix / "bin/attune"), "--db", str(database), "blas",
                              "--stats", "--", str(caller), "calls=3"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("3 calls served", done.stderr)


class Settings(Decoys):
    def test_relative_paths_of_code_are_refused(self):
        for variable in ("ATTUNE_PLUGIN_PATH", "ATTUNE_KERNEL_PATH"):
            done = self.run_here([str(INSTALLED.prefix / "bin/attune"), "devices"],
                                 **{variable: "lib/attune"})
            self.assertIn(f"Cannot use {variable}: 'lib/attune' is a relative path", done.stdout)
        for variable, value in {"ATTUNE_EVALUATOR": "./attune-evaluator",
                                "ATTUNE_PLUGIN_PATH": "lib/attune",
                                "ATTUNE_OPENBLAS": "./libopenblas.so.0",
                                "ATTUNE_TOOLS": "kernels/evil.json"}.items():
            with self.subTest(variable):
                done = self.run_here(
                    [str(INSTALLED.prefix / "bin/attune"), "tune", "--problem", "gemm@1{m=8,n=8,k=8}",
                     "--per-problem", "0.1s"], **{variable: value})
                self.assertIn(done.returncode, (1, 2), done.stderr)
                self.assertIn(variable, done.stderr)
                self.assertIn("is a relative path", done.stderr)

    def test_a_program_with_more_rights_than_its_user_takes_no_paths_from_it(self):
        if os.geteuid() != 0:
            self.skipTest("only the superuser can install a program for another user")
        copy = INSTALLED.work / "set-user-id"
        if not copy.exists():
            shutil.copytree(INSTALLED.prefix, copy)
        program = copy / "bin/attune"
        os.chown(program, 65534, 65534)
        program.chmod(0o4755)
        # The other user must be able to read it.
        folder = copy
        while folder != folder.parent and not folder.stat().st_mode & 0o5:
            folder.chmod(folder.stat().st_mode | 0o55)
            folder = folder.parent
        os.chmod(self.home, 0o777)
        done = subprocess.run(
            [str(program), "devices"], cwd="/", user=1, group=1, extra_groups=[], check=False,
            capture_output=True, text=True, timeout=TIMEOUT_S,
            env=environment(self.home, ATTUNE_PLUGIN_PATH=str(INSTALLED.hostile / "lib/attune"),
                            ATTUNE_OPENBLAS=str(INSTALLED.hostile / "libopenblas.so.0"),
                            ATTUNE_KERNEL_PATH=str(INSTALLED.hostile / "kernels")))
        if "Permission denied" in done.stderr or done.returncode == 126:
            self.skipTest(f"another user cannot run it here: {done.stderr}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(str(INSTALLED.hostile), done.stdout)

    def test_without_proc_it_says_so(self):
        program = INSTALLED.prefix / "bin/attune"
        command = ["unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$0" devices',
                   str(program)]
        done = self.run_here(command)
        if "unshare" in done.stderr or "umount" in done.stderr:
            self.skipTest(f"/proc cannot be taken away here: {done.stderr}")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("/proc is not mounted", done.stderr)

    def test_a_program_whose_file_is_gone_starts_no_other_one(self):
        copy = INSTALLED.work / "gone"
        shutil.copytree(INSTALLED.prefix, copy)
        program = os.open(copy / "bin/attune", os.O_RDONLY)
        self.addCleanup(os.close, program)
        shutil.rmtree(copy)
        for place in ("bin", "libexec/attune", "lib/attune", "bin/attune (deleted)/bin"):
            INSTALLED.fill(copy / place)
        done = subprocess.run(
            [f"/proc/self/fd/{program}", "tune", "--problem", "gemm@1{m=8,n=8,k=8}", "--per-problem",
             "0.1s"], pass_fds=[program], cwd=INSTALLED.hostile, env=environment(self.home),
            capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("its file was deleted or replaced after it was loaded", done.stderr)
        shutil.rmtree(copy)


class Content(unittest.TestCase):
    def test_nothing_that_is_installed_names_the_build_or_the_sources(self):
        for path in sorted(INSTALLED.prefix.rglob("*")):
            if path.is_symlink() or not path.is_file() or path.read_bytes()[:4] != b"\x7fELF":
                continue
            # Debug information may name the sources.
            bare = INSTALLED.work / "bare"
            subprocess.run(["strip", "--strip-debug", "-o", str(bare), str(path)], check=True)
            content = bare.read_bytes()
            for folder in (OPTIONS.build, OPTIONS.source):
                at = content.find(str(folder).encode())
                self.assertEqual(at, -1, (path, content[max(at, 0):at + 100]))
            dynamic = subprocess.run(["readelf", "-d", str(path)], check=True, capture_output=True,
                                     text=True).stdout
            for line in dynamic.splitlines():
                if "RPATH" in line or "RUNPATH" in line:
                    self.fail(f"{path}: {line}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("--build", "--source", "--caller"):
        parser.add_argument(option, type=pathlib.Path, required=True)
    OPTIONS, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="attune-hostile-") as folder:
        os.chmod(folder, 0o755)
        INSTALLED = Installation(pathlib.Path(folder))
        result = unittest.main(argv=["hostile_folder.py", *rest], verbosity=2, exit=False).result
    sys.exit(not result.wasSuccessful())
