#!/usr/bin/env python3
"""A program opens libattune, uses and closes it, again and again, as hosts do that reload their
plug-ins.

  reopened_library.py --library libattune.so
"""

import _ctypes
import argparse
import ctypes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True)
    options = parser.parse_args()
    for number in range(5):
        library = ctypes.CDLL(options.library)
        runtime = ctypes.c_void_p()
        code = library.attune_runtime_create(None, ctypes.byref(runtime))
        assert code == 0, f"round {number}: code {code}"
        library.attune_runtime_destroy.argtypes = [ctypes.c_void_p]
        library.attune_runtime_destroy(runtime)
        _ctypes.dlclose(library._handle)
    print("passed")


if __name__ == "__main__":
    main()
