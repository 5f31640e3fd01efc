#!/usr/bin/env python3
"""SciPy and Octave under the preload library give the results that they give without it.

  scipy_octave.py --attune PROGRAM [--python PROGRAM] [--octave PROGRAM]

What is not installed is skipped.
"""

import argparse
import pathlib
import shutil
import tempfile
import unittest

from interposers import attuned, run, served

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


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--attune", required=True)
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--octave", default=shutil.which("octave-cli") or shutil.which("octave"))
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=["scipy_octave.py", *rest], verbosity=2)


if __name__ == "__main__":
    main()
