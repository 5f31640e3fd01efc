#!/usr/bin/env python3
"""Third-party programs give the same results with the preload library as without it.

  programs.py --attune PROGRAM [--python PROGRAM] [--octave PROGRAM]

SciPy, Octave, R with forked workers, gunicorn (which forks its workers, before or after the first product) and
PostgreSQL with PL/Python. What is not installed is skipped.
"""

import argparse
import concurrent.futures
import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "blas"))
from interposers import attuned, outside_environment, run, served  # noqa: E402  pylint: disable=wrong-import-position

CHILD = str(pathlib.Path(__file__).with_name("programs_child.py"))
OPTIONS = None

# Prints sums that every element has a part in, one for each line.
OCTAVE = """
rand('twister', 5);
for type = {'single', 'double'}
  a = cast(rand(60, 40), type{1}); b = cast(rand(40, 50), type{1});
  s = cast(rand(80, 80), type{1}) + 80 * eye(80, type{1});
  w = cast(1:80, type{1})';
  results = {a * b, a' * (a * b), a * b(:, 1), b' * a', s \\ w, inv(s), chol(s * s'), ...
             eig(s + s'), svd(s), expm(s / 80), det(s / 80)};
  for i = 1:numel(results)
    r = double(results{i});
    printf('%s %d %.17g\\n', type{1}, i, sum(r(:) .* (1 + mod((1:numel(r))', 7))));
  end
end
"""

# Compares products of forked workers with those of this process, and ends with a status of its own.
R_CODE = """
library(parallel)
set.seed(1)
a <- matrix(sample(-3:3, 90000, TRUE), 300); b <- matrix(sample(-3:3, 90000, TRUE), 300)
f <- function(n) sum(a[1:n, 1:n] %*% b[1:n, 1:n]) + sum(crossprod(a[1:n, 1:n], b[1:n, 1:n]))
whole <- sum(a %*% b)
forked <- unlist(mclapply(seq(5, 300, 11), f, mc.cores = 3))
stopifnot(identical(as.numeric(forked), as.numeric(sapply(seq(5, 300, 11), f))))
cat(whole, sum(forked), signif(sum(solve(crossprod(a) + diag(300))), 8))
q(status = 7)
"""

# Small whole numbers, so that every order of a sum gives the same.
CHECK = """
import numpy
def is_right(size):
    a = numpy.arange(size * size, dtype=float).reshape(size, size) % 7
    b = numpy.arange(size * size, dtype=float).reshape(size, size) % 5
    return bool(numpy.trace(a.dot(b)) == numpy.einsum("ij,ji->", a, b))
"""
WEB_APPLICATION = CHECK + """
is_right(20)
def application(request, start):
    start("200 OK", [("Content-Type", "text/plain")])
    return [b"right" if is_right(int(request["QUERY_STRING"])) else b"wrong"]
"""
DATABASE_FUNCTION = f"""
create extension plpython3u;
create function is_right(size int) returns bool language plpython3u as $${CHECK}
return is_right(size)
$$;
"""
SERVER_START_S = 30
SERVER_EXIT_S = 10


class SciPy(unittest.TestCase):
    def setUp(self):
        found = run(OPTIONS.python, "-c", "import scipy; print(scipy.__version__)")
        if found.returncode != 0:
            self.skipTest(f"{OPTIONS.python} has no SciPy; Debian's package is python3-scipy")

    def test_products_and_decompositions_are_the_same(self):
        compare = ("import numpy, sys; a, b = map(numpy.load, sys.argv[1:]); "
                   "assert sorted(a) == sorted(b) and len(a) > 20; "
                   "[numpy.testing.assert_allclose(b[x], a[x], err_msg=x, atol=0, "
                   "rtol=5e-4 if 'float32' in x else 1e-10) for x in a]")
        with tempfile.TemporaryDirectory() as folder:
            own, ours = f"{folder}/own.npz", f"{folder}/ours.npz"
            process = run(OPTIONS.python, CHILD, own)
            self.assertEqual(process.returncode, 0, process.stderr)
            process = attuned(OPTIONS.attune, OPTIONS.python, CHILD, ours)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertGreater(served(process), 10, process.stderr)
            process = run(OPTIONS.python, "-c", compare, own, ours)
            self.assertEqual(process.returncode, 0, process.stderr)


class Octave(unittest.TestCase):
    def setUp(self):
        if OPTIONS.octave is None:
            self.skipTest("there is no Octave; Debian's package is octave")

    def values(self, process):
        self.assertEqual(process.returncode, 0, process.stderr)
        lines = [line.split() for line in process.stdout.splitlines()]
        self.assertEqual(len(lines), 22, process.stdout)
        return {(kind, number): float(value) for kind, number, value in lines}

    def test_products_and_decompositions_are_the_same(self):
        command = (OPTIONS.octave, "--no-gui", "--norc", "--quiet", "--eval", OCTAVE)
        own = self.values(run(*command))
        process = attuned(OPTIONS.attune, *command)
        ours = self.values(process)
        self.assertGreater(served(process), 10, process.stderr)
        for key, wanted in own.items():
            tolerance = (5e-4 if key[0] == "single" else 1e-10) * abs(wanted)
            self.assertAlmostEqual(ours[key], wanted, delta=tolerance, msg=str(key))


class R(unittest.TestCase):
    def test_products_in_forked_workers_are_the_same(self):
        rscript = shutil.which("Rscript")
        if rscript is None:
            self.skipTest("there is no R; Debian's package is r-base-core")
        own = run(rscript, "-e", R_CODE)
        ours = attuned(OPTIONS.attune, rscript, "-e", R_CODE)
        self.assertEqual((own.returncode, ours.returncode), (7, 7), own.stderr + ours.stderr)
        self.assertEqual(ours.stdout, own.stdout)
        self.assertGreater(served(ours), 0, ours.stderr)


class Servers(unittest.TestCase):
    """Servers run in a folder of their own until the test ends, and have to end within SERVER_EXIT_S."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="attune-programs-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    @contextlib.contextmanager
    def serving(self, *command, is_ready, **options):
        """Runs a server under `attune blas --record` until the block ends."""
        environment = {**outside_environment(), "HOME": str(self.folder), "PYTHONPATH": str(self.folder),
                       "XDG_CACHE_HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder)}
        log = open(self.folder / "log", "w+", encoding="utf-8")
        self.addCleanup(log.close)
        server = subprocess.Popen(
            [OPTIONS.attune, "--db", str(self.folder / "t.db"), "blas", "--record", "all", "--", *command],
            env=environment, cwd=self.folder, stdout=log, stderr=log, **options)
        try:
            begin = time.monotonic()
            while not is_ready():
                self.assertIsNone(server.poll(), (self.folder / "log").read_text(encoding="utf-8"))
                self.assertLess(time.monotonic() - begin, SERVER_START_S)
                time.sleep(0.05)
            yield server
            server.send_signal(signal.SIGTERM)
            self.assertEqual(server.wait(SERVER_EXIT_S), 0)
        finally:
            server.kill()
            server.wait()
        self.assertRegex((self.folder / "log").read_text(encoding="utf-8"), r"[1-9]\d* problems recorded")

    def check_gunicorn(self, *arguments):
        if run(OPTIONS.python, "-c", "import gunicorn, numpy").returncode != 0:
            self.skipTest(f"{OPTIONS.python} has no gunicorn or NumPy; Debian's packages are gunicorn and "
                          "python3-numpy")
        (self.folder / "products.py").write_text(WEB_APPLICATION)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            place = f"127.0.0.1:{free.getsockname()[1]}"

        def answer(size):
            with urllib.request.urlopen(f"http://{place}/?{size}", timeout=20) as response:
                return response.read()

        def is_ready():
            with contextlib.suppress(OSError):
                return answer(3) == b"right"
            return False

        # gunicorn itself waits for workers whose replacement it has just begun (in 4 of 40 runs without attune).
        command = (OPTIONS.python, "-m", "gunicorn", "-w", "3", "--threads", "3", "-b", place,
                   "--graceful-timeout", "3", *arguments, "products:application")
        with self.serving(*command, is_ready=is_ready) as server, \
                concurrent.futures.ThreadPoolExecutor(6) as clients:
            self.assertEqual(set(clients.map(answer, range(5, 160))), {b"right"})
            server.send_signal(signal.SIGHUP)  # It replaces its workers.
            self.assertEqual(set(clients.map(answer, range(160, 200))), {b"right"})

    def test_gunicorn_forks_workers_before_the_first_product(self):
        self.check_gunicorn()

    def test_gunicorn_forks_workers_after_the_first_product(self):
        self.check_gunicorn("--preload")

    def test_postgresql_computes_in_its_backends(self):
        folders = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
        extension = list(pathlib.Path("/usr/share/postgresql").glob("*/extension/plpython3u.control"))
        if not folders or not extension or run("/usr/bin/python3", "-c", "import numpy").returncode != 0:
            self.skipTest("there is no PostgreSQL with PL/Python and NumPy; Debian's packages are postgresql, "
                          "postgresql-plpython3-15 and python3-numpy")
        options = {}
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root.
            try:
                user = pwd.getpwnam("postgres")
            except KeyError:
                self.skipTest("there is no user postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            try:
                subprocess.run([OPTIONS.attune, "--version"], check=True, capture_output=True, cwd="/", **options)
            except (OSError, subprocess.CalledProcessError):
                self.skipTest(f"the user postgres cannot run {OPTIONS.attune}")
        data = self.folder / "data"
        subprocess.run([folders[-1] / "initdb", "-D", data, "-A", "trust", "-U", "tester"], check=True,
                       capture_output=True, cwd=self.folder, **options)

        def query(text):
            return subprocess.run([folders[-1] / "psql", "-h", self.folder, "-U", "tester", "-d", "postgres", "-qtA",
                                   "-v", "ON_ERROR_STOP=1", "-c", text], capture_output=True, text=True, timeout=60,
                                  check=False)

        command = (str(folders[-1] / "postgres"), "-D", str(data), "-k", str(self.folder), "-c", "listen_addresses=")
        with self.serving(*command, is_ready=lambda: query("select 1").returncode == 0, **options), \
                concurrent.futures.ThreadPoolExecutor(6) as clients:
            made = query(DATABASE_FUNCTION)
            self.assertEqual(made.returncode, 0, made.stderr)
            for done in clients.map(lambda first: query(
                    f"select sum(is_right(size)::int) from generate_series({first}, {first + 190}, 10) size"),
                    range(5, 11)):
                self.assertEqual((done.returncode, done.stdout.strip()), (0, "20"), done.stderr)


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--attune", required=True)
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--octave", default=shutil.which("octave-cli") or shutil.which("octave"))
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=["programs.py", *rest], verbosity=2)


if __name__ == "__main__":
    main()
