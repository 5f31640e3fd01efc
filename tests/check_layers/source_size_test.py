"""tools/source_size.py counts a small tree.

  source_size_test.py PROGRAM
"""

import json
import pathlib
import subprocess
import sys
import tempfile

FILES = {
    "attune/base/text.h": 10, "attune/base/text.cc": 100, "attune/base/text_test.cc": 1000,
    "attune/space/space.h": 60, "attune/ops/gemm/gemm.h": 90, "backends/cuda/driver.cc": 200,
    "extensions/fleet/jobs.cc": 300, "tests/e2e/limits/takes.h": 2000, "docs/page.md": 5000,
}
EXPECTED = {
    "lines of core": 260, "lines of all source": 760, "lines of tests": 3000, "source files": 6,
    "modules under attune/": 2, "lines of the median header": 60, "percent of headers under 40 lines": 33,
}


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, lines in FILES.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n" * lines)
        program = [sys.executable, sys.argv[1], "--root", folder]
        table = subprocess.run(program, check=True, capture_output=True, text=True).stdout
        counted = json.loads(subprocess.run([*program, "--json"], check=True, capture_output=True, text=True).stdout)
    values = {name: measure["value"] for name, measure in counted.items()}
    if values != EXPECTED:
        print(f"counted {values}, not {EXPECTED}")
    rows = table.splitlines()[1:]
    if len(rows) != len(EXPECTED):
        print(f"the table has {len(rows)} rows: {table}")
    return values != EXPECTED or len(rows) != len(EXPECTED)


if __name__ == "__main__":
    sys.exit(main())
