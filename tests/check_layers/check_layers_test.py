"""tools/check_layers.py on small trees: a clean one passes, and each broken law is reported with its
place.

  check_layers_test.py CHECKER
"""

import pathlib
import subprocess
import sys
import tempfile

CLEAN = {
    "attune/base/CMakeLists.txt": "attune_module(base SOURCES text.cc)\n",
    "attune/base/text.h": "#pragma once\n",
    "attune/base/text.cc": '#include "attune/base/text.h"\n',
    "attune/problem/CMakeLists.txt":
        "attune_module(problem\n  SOURCES size.cc\n  DEPENDS base\n  TESTS size_test.cc)\n",
    "attune/problem/size.cc": '#include <vector>\n#include "attune/base/text.h"\n',
    "attune/problem/size_test.cc": '#include <chrono>\n#include "attune/base/text.h"\n',
    "attune/measure/CMakeLists.txt": "attune_module(measure DEPENDS base problem)\n",
    "backends/box/CMakeLists.txt": "attune_module(backend_box SOURCES box.cc DEPENDS base)\n",
    "backends/box/box.cc": '#include "attune/base/text.h"\n',
}

OWN_HEADER = '#include "attune/problem/size.h"\n'
# The file added to the clean tree, the start of the one line about it, and a part of that line.
VIOLATIONS = (
    ({"attune/base/text.cc": '#include "attune/base/text.h"\n\n#include "attune/problem/size.h"\n'},
     "attune/base/text.cc:3: ", "'problem' is not in DEPENDS of 'base'"),
    ({"attune/base/CMakeLists.txt": "attune_module(base SOURCES text.cc DEPENDS problem)\n"},
     "attune/base/CMakeLists.txt:1: ", "not lower in the order"),
    ({"attune/problem/CMakeLists.txt": "attune_module(problem DEPENDS base backend_box)\n"},
     "attune/problem/CMakeLists.txt:1: ", "'backend_box', which is above it"),
    ({"attune/problem/size.cc": OWN_HEADER + '#include "backends/box/box.h"\n'},
     "attune/problem/size.cc:2: ", "a module under attune/ includes backends/box/box.h"),
    ({"attune/problem/size.cc": OWN_HEADER + '#include "runtime/places.h"\n'},
     "attune/problem/size.cc:2: ", "a module under attune/ includes runtime/places.h"),
    ({"apps/attune/main.cc": '#include "extensions/fleet/status.h"\n'},
     "apps/attune/main.cc:1: ", "includes extensions/fleet/status.h of an extension"),
    ({"extensions/models/train.cc": '#include "extensions/fleet/status.h"\n'},
     "extensions/models/train.cc:1: ", "includes extensions/fleet/status.h of another extension"),
    ({"extensions/models/CMakeLists.txt": "attune_module(tree SOURCES tree/leaf.cc DEPENDS base)\n",
      "extensions/models/tree/leaf.cc": '#include "attune/measure/race.h"\n'},
     "extensions/models/tree/leaf.cc:1: ", "'measure' is not in DEPENDS of 'extensions/tree'"),
    ({"attune/problem/size.cc": OWN_HEADER + '#include "apps/attune/terminal.h"\n'},
     "attune/problem/size.cc:2: ", "only programs include"),
    ({"attune/problem/size.cc": "// Two.\n" + OWN_HEADER + "#include <chrono>\n"},
     "attune/problem/size.cc:3: ", "read no clock"),
    ({"attune/session/CMakeLists.txt": "attune_module(session DEPENDS base index)\n",
      "attune/index/CMakeLists.txt": "attune_module(index DEPENDS compile)\n",
      "attune/compile/CMakeLists.txt": "attune_module(compile DEPENDS base)\n"},
     "attune/session/CMakeLists.txt:1: ", "'session' must never reach 'compile', not even indirectly"),
    ({"backends/box/box.cc": '#include "attune/measure/race.h"\n'},
     "backends/box/box.cc:1: ", "'measure' is not in DEPENDS of 'backends/box'"),
    ({"attune/odd/CMakeLists.txt": "attune_module(odd DEPENDS base)\n"},
     "attune/odd/CMakeLists.txt:1: ", "'odd' is not in the order of modules"),
    ({"attune/ops/operators.inc": "ATTUNE_OPERATOR(BatchNorm)\n", "attune/ops/batch_norm/fields.cc": "BatchNorm norm;\n",
      "backends/box/batch_norm/solver.cc": "BatchNorm norm;\n", "tests/norm_test.cc": "BatchNorm norm;\n",
      "attune/problem/size.cc": OWN_HEADER + "// BatchNorm\nBatchNorm norm;\n"},
     "attune/problem/size.cc:3: ", "names BatchNorm, which is for attune/ops/batch_norm"),
    ({"attune/base/text_util.h": "#pragma once\n"},
     "attune/base/text_util.h:1: ", "says nothing"),
    ({"attune/base/text.h": "// No guard.\n"}, "attune/base/text.h:1: ", "#pragma once"),
    ({"attune/base/text.h": "#pragma once\n" + "// x\n" * 300},
     "attune/base/text.h:301: ", "301 lines, the limit is 300"),
    ({"include/attune/attune.hpp": "// x\n" * 301},
     "include/attune/attune.hpp:301: ", "301 lines, the limit is 300"),
    ({"attune/base/text.cc": "#include <string>\n#include \"attune/base/text.h\"\n"},
     "attune/base/text.cc:1: ", "its own header comes first"),
    ({"attune/base/text.cc": "// A.\n// TO" "DO later\n"}, "attune/base/text.cc:2: ", "issue"),
    ({"attune/base/text.cc": "\nvoid Long() {\n" + "  Go();\n" * 70 + "}\n"},
     "attune/base/text.cc:2: ", "72 lines in 'void Long()'"),
    ({"attune/base/text.cc":
      "\nvoid Wide(int a, std::map<int, int> b, int c, int d, int e, F<void(int)> f) {}\n"},
     "attune/base/text.cc:2: ", "6 parameters of 'void Wide(int a"),
    ({"tests/faults/late_test.cc": "// sleep" "(1)\nvoid Wait() { ::us" "leep(2000); }\n"},
     "tests/faults/late_test.cc:2: ", "only tests/e2e sleeps"),
    ({"attune/base/text_test.cc": "void Wait() { std::this_thread::sleep" "_for(kDay); }\n"},
     "attune/base/text_test.cc:1: ", "only tests/e2e sleeps"),
    ({"bench/run.py": "def run():\n" + "    pass\n" * 70}, "bench/run.py:1: ", "71 lines in 'run'"),
)


def violations(checker, files):
    """(exit status, lines) of the checker on a tree of `files`."""
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        run = subprocess.run([sys.executable, checker, "--root", root], capture_output=True,
                             text=True, timeout=30, check=False)
    return run.returncode, run.stdout.splitlines()


def main(checker):
    mistakes = []
    if (clean := violations(checker, CLEAN)) != (0, []):
        mistakes.append(f"The clean tree is not: {clean}")
    for change, place, words in VIOLATIONS:
        status, lines = violations(checker, CLEAN | change)
        found = [line for line in lines if line.startswith(place) and words in line]
        if status != 1 or len(found) != 1 or len(lines) != len(found):
            mistakes.append(f"{place}{words}: exit {status}, {lines}")
    for line in mistakes:
        print(line)
    print(f"{len(VIOLATIONS)} broken trees, {len(mistakes)} mistakes")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
