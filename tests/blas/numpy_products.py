#!/usr/bin/env python3
"""NumPy under `attune blas`: the same results as without, with every library computing.

  numpy_products.py --attune PROGRAM [--python PROGRAM] [--wheel FOLDER] [--suite] [--preload LIBRARY]

--python is one with NumPy (default: /usr/bin/python3, Debian's). --wheel makes a virtual environment
in FOLDER with the NumPy of PyPI, which brings a BLAS of its own, and uses that. --suite runs NumPy's
own tests of linear algebra with and without, and compares what became of each, and nothing else.
What cannot be had is skipped, aloud.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import interposers
from interposers import attuned, run, served

OPTIONS = None
CHILD = str(pathlib.Path(__file__).with_name("numpy_child.py"))
EVERYTHING = ("gemm float32", "gemm float64", "gemv float32", "gemv float64")
# The products that each library can compute.
SOLVERS = {
    "host.openblas-gemm": EVERYTHING,
    "host.blis-gemm": EVERYTHING,
    "host.onednn-gemm": ("gemm float32", "gemv float32"),
    "host.libxsmm-gemm": ("gemm float32", "gemm float64"),
    "host.eigen-gemm": EVERYTHING,
    "host.packed-gemm": EVERYTHING,
    "host.gemv-gemm": ("gemv float32", "gemv float64"),
    "host.reference-gemm": EVERYTHING,
}
# Folders with a libblas.so.3 that Debian's NumPy can load.
REAL_BLAS = ("openblas-pthread", "blas", "blis-openmp", "blis-pthread")


def skip(reason):
    print(f"SKIPPED: {reason}", file=sys.stderr)
    raise unittest.SkipTest(reason)


class Results(unittest.TestCase):
    def test_products_and_decompositions_are_the_same(self):
        compare = ("import numpy, sys; a, b = map(numpy.load, sys.argv[1:]); "
                   "assert sorted(a) == sorted(b) and len(a) > 30; "
                   "[numpy.testing.assert_allclose(b[x], a[x], err_msg=x, atol=0, "
                   "rtol=2e-4 if 'float32' in x else 1e-11) for x in a]")
        with tempfile.TemporaryDirectory() as folder:
            own, ours = f"{folder}/own.npz", f"{folder}/ours.npz"
            process = run(OPTIONS.python, CHILD, "results", own)
            self.assertEqual(process.returncode, 0, process.stderr)
            process = attuned(OPTIONS.attune, OPTIONS.python, CHILD, "results", ours)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertGreater(served(process), 20, process.stderr)
            process = run(OPTIONS.python, "-c", compare, own, ours)
            self.assertEqual(process.returncode, 0, process.stderr)

    def test_threads_compute_at_once(self):
        process = attuned(OPTIONS.attune, OPTIONS.python, CHILD, "threads")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertGreater(served(process), 1000)

    def test_threads_that_a_call_sets_are_a_limit(self):
        process = attuned(OPTIONS.attune, OPTIONS.python, CHILD, "limited",
                          ATTUNE_FORCE="host.packed-gemm")
        if process.returncode == 77:
            skip("there is one processor, or NumPy has no OpenBLAS")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(served(process), 2, process.stderr)
        self.assertIn("10 under a limit", process.stderr)

    def test_children_of_forks_compute(self):
        process = attuned(OPTIONS.attune, OPTIONS.python, CHILD, "fork")
        self.assertEqual(process.returncode, 0, process.stderr)

    def test_children_of_forks_compute_while_every_thread_pool_is_up(self):
        for solver in SOLVERS:
            if EVERYTHING != SOLVERS[solver]:
                continue
            process = attuned(OPTIONS.attune, OPTIONS.python, CHILD, "fork", ATTUNE_FORCE=solver)
            self.assertEqual(process.returncode, 0, f"{solver}: {process.stderr}")

    def test_recorded_problems_reach_the_tag(self):
        with tempfile.TemporaryDirectory() as folder:
            database = f"{folder}/numpy.db"
            process = run(OPTIONS.attune, "--db", database, "blas", "--record", "mine", "--",
                          OPTIONS.python, CHILD, "gemm", "float32", ATTUNE_DB=database)
            self.assertEqual(process.returncode, 0, process.stderr)
            listed = run(OPTIONS.attune, "--db", database, "problems", "--tag", "mine")
        # The allocator decides about the alignment.
        self.assertRegex(listed.stdout, r"gemm@1\{m=48,n=64,k=32(,align=\d+)?\}", listed.stderr)
        self.assertEqual(listed.stdout.count("gemm@1{"), 5, listed.stdout)

    def test_an_unknown_forced_choice_ends_the_program(self):
        process = attuned(OPTIONS.attune, OPTIONS.python, CHILD, "gemm", "float32",
                          ATTUNE_FORCE="host.typo-gemm")
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("ATTUNE_FORCE is 'host.typo-gemm'", process.stderr)


class Libraries(unittest.TestCase):
    """Each library computes in turn, over each BLAS that the program may have come with."""

    def check(self, solver, real):
        variables = {"ATTUNE_FORCE": solver}
        if real:
            variables["LD_LIBRARY_PATH"] = real
        for step in SOLVERS[solver]:
            with self.subTest(solver=solver, real=real, step=step):
                process = attuned(OPTIONS.attune, OPTIONS.python, CHILD, *step.split(), **variables)
                self.assertEqual(process.returncode, 0, process.stderr)
                self.assertGreater(served(process), 1, process.stderr)
                self.assertNotIn("from within a library", process.stderr)

    def test_every_solver_over_the_programs_own_blas(self):
        for solver in SOLVERS:
            self.check(solver, None)

    def test_every_solver_over_every_blas_of_debian(self):
        if OPTIONS.wheel:
            skip("the NumPy of PyPI brings its BLAS, so there is only one")
        for name in REAL_BLAS:
            folders = list(pathlib.Path("/usr/lib").glob(f"*/{name}/libblas.so.3"))
            if not folders:
                print(f"SKIPPED: {name} is not installed", file=sys.stderr)
                continue
            for solver in SOLVERS:
                self.check(solver, str(folders[0].parent))


class SpecialValues(unittest.TestCase):
    """NaN, infinity and denormal numbers follow IEEE 754."""

    def check(self, solver, step):
        # libxsmm has no kernels for a transposed A, which NumPy passes for order F.
        orders = "C" if solver == "host.libxsmm-gemm" else "CF"
        variables = {"ATTUNE_FORCE": solver}
        process = attuned(OPTIONS.attune, OPTIONS.python, CHILD, "special", *step.split(), orders,
                          **variables)
        self.assertEqual(process.returncode, 0, f"{variables}: {process.stderr}")
        self.assertGreater(served(process), 1, process.stderr)

    def test_with_every_solver(self):
        for solver, steps in SOLVERS.items():
            for step in steps:
                with self.subTest(solver=solver, step=step):
                    self.check(solver, step)

    def test_where_blis_was_measured_to_be_the_best(self):
        script = ("import sys, numpy as np; m = np.ones((700, 51), order='F'); m[:, -1] = np.nan; "
                  "x = np.ones(51); x[-1] = 0; sys.exit(int(not np.isnan(m @ x).all()))")
        with tempfile.TemporaryDirectory() as folder:
            database = f"{folder}/nan.db"
            program = (OPTIONS.python, "-c", script)
            run(OPTIONS.attune, "--db", database, "blas", "--record", "nan", "--", *program,
                ATTUNE_DB=database)
            tuned = run(OPTIONS.attune, "--db", database, "tune", "--tag", "nan", "--solver",
                        "blis", "--per-problem", "2s")
            if "blis" not in tuned.stdout + tuned.stderr:
                skip("BLIS is not installed")
            self.assertEqual(tuned.returncode, 0, tuned.stdout + tuned.stderr)
            process = run(OPTIONS.attune, "--db", database, "blas", "--stats", "--", *program,
                          ATTUNE_DB=database)
        self.assertEqual(process.returncode, 0, "NaN is lost")
        self.assertEqual(served(process), 1, process.stderr)


class Suite(unittest.TestCase):
    def outcomes(self, launcher, folder, **variables):
        """{test: passed, failed, skipped} of NumPy's tests of linear algebra."""
        report = f"{folder}/report.xml"
        process = run(*launcher, OPTIONS.python, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                      "--pyargs", "numpy.linalg", f"--junitxml={report}", timeout_s=1500,
                      folder=folder, **variables)
        if "No module named" in process.stderr:
            skip(process.stderr.strip())
        outcomes = {}
        for case in xml.etree.ElementTree.parse(report).iter("testcase"):
            kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
            outcomes[f"{case.get('classname')}.{case.get('name')}"] = kinds[0] if kinds else "passed"
        return outcomes, process

    def test_numpys_own_tests_of_linear_algebra_go_as_without(self):
        with tempfile.TemporaryDirectory() as folder:
            without, _ = self.outcomes((), folder)
            ours, process = self.outcomes((OPTIONS.attune, "blas", "--stats", "--"), folder)
        self.assertGreater(len(without), 300)
        self.assertEqual(ours, without)
        self.assertGreater(served(process), 10_000)
        print(f"{len(ours)} tests, {list(ours.values()).count('passed')} passed, "
              f"{served(process)} calls served", file=sys.stderr)


def make_wheel_environment(folder):
    """A Python with NumPy from PyPI, or None where there is no network."""
    python = str(pathlib.Path(folder) / "bin/python")
    have = [python, "-c", "import numpy, pytest, hypothesis"]
    if os.path.exists(python) and subprocess.run(have, capture_output=True).returncode == 0:
        return python
    for step in ([sys.executable, "-m", "venv", folder],
                 [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "numpy",
                  "pytest", "hypothesis"]):
        if subprocess.run(step, capture_output=True, timeout=300).returncode != 0:
            return None
    return python


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--attune", required=True)
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--wheel")
    parser.add_argument("--suite", action="store_true")
    interposers.add_preload(parser)
    OPTIONS, rest = parser.parse_known_args()
    interposers.set_preload(OPTIONS.preload)
    if OPTIONS.wheel:
        OPTIONS.python = make_wheel_environment(OPTIONS.wheel)
        if OPTIONS.python is None:
            print("SKIPPED: pip cannot fetch NumPy")
            return
    found = subprocess.run([OPTIONS.python, "-c", "import numpy; print(numpy.__version__)"],
                           capture_output=True, text=True)
    if found.returncode != 0:
        print(f"SKIPPED: {OPTIONS.python} has no NumPy; Debian's package is python3-numpy")
        return
    print(f"NumPy {found.stdout.strip()} of {OPTIONS.python}")
    names = ["Suite"] if OPTIONS.suite else ["Results", "Libraries", "SpecialValues"]
    unittest.main(argv=["numpy_products.py", *rest, *([] if rest else names)], verbosity=2)


if __name__ == "__main__":
    main()
