#!/usr/bin/env python3
"""The hash of an interface changes with every header that it includes, and with no other.

  interface_hash_test.py CMAKE SCRIPT
"""

import pathlib
import re
import subprocess
import sys
import tempfile


def hash_of(cmake, script, root):
    out = root / "hash.h"
    subprocess.run([cmake, f"-DROOT={root}", "-DHEADER=attune/top.h", f"-DOUT={out}", "-P", script],
                   check=True)
    return re.search(r'"([0-9a-f]{16})"', out.read_text())[1], out.stat().st_mtime_ns


def main():
    cmake, script = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "attune" / "deep").mkdir(parents=True)
        (root / "attune/top.h").write_text('#include <string>\n#include "attune/deep/a.h"\n'
                                           '#include "attune/made_later.h"\n')
        (root / "attune/deep/a.h").write_text('#include "attune/deep/b.h"\n')
        (root / "attune/deep/b.h").write_text('#include "attune/top.h"\nstruct B { int x; };\n')
        (root / "attune/other.h").write_text("struct Other {};\n")
        first, made_ns = hash_of(cmake, script, root)

        (root / "attune/other.h").write_text("struct Other { int y; };\n")
        assert hash_of(cmake, script, root) == (first, made_ns), "the same hash was written again"

        (root / "attune/deep/b.h").write_text('#include "attune/top.h"\nstruct B { long x; };\n')
        assert hash_of(cmake, script, root)[0] != first, "a header that is included did not count"
    print("passed")


main()
