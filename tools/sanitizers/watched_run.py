#!/usr/bin/env python3
"""Runs a test of a sanitized build and fails if any of its processes left a report.

  watched_run.py COMMAND [ARGUMENT...]

The tuner takes a child that dies for one more failed candidate, and UBSan continues after a report, so
the exit status of a test alone does not show what a sanitizer found. Every report goes to a file of
its process instead; they are printed at the end.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

FAILED = 1
# Tests ask for more memory than there is and switch stacks, on purpose; and a thread may end while
# LeakSanitizer looks at those that are left.
EXPECTED = re.compile(r"==\d+==(WARNING: \w+Sanitizer failed to allocate 0x[0-9a-f]+ bytes"
                      r"|WARNING: ASan doesn't fully support makecontext/swapcontext functions.*"
                      r"|Unable to get registers from thread \d+\.)\n")


def environment(folder):
    settings = dict(os.environ)
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
        own = f"log_path={folder}/{name.split('_')[0].lower()}"
        settings[name] = ":".join(part for part in (settings.get(name), own) if part)
    return settings


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="attune-sanitizers-") as folder:
        status = subprocess.run(sys.argv[1:], env=environment(folder), check=False).returncode
        texts = {path.name: EXPECTED.sub("", path.read_text(errors="replace"))
                 for path in sorted(pathlib.Path(folder).iterdir())}
        reports = {name: text for name, text in texts.items() if text}
        for name, text in reports.items():
            print(f"--- {name}\n{text}")
        if reports:
            print(f"{len(reports)} processes of this test left a report of a sanitizer.")
    if reports and status == 0:
        status = FAILED
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
