#!/usr/bin/env python3
"""Runs for numpy_products.py, with and without the preload library: numpy_child.py STEP [OUTPUT].

  results OUTPUT   products and decompositions, saved to OUTPUT (.npz)
  gemm TYPE        products with matrices, checked; gemv TYPE: with vectors
  special KIND TYPE ORDERS
                   products with matrices (KIND "gemm") or vectors ("gemv"), checked; they hold NaN,
                   infinities, zeros and denormal numbers, in each of ORDERS ("C", "F")
  threads          products in eight threads at once, checked
  limited          large products, of which ten while the BLAS is set to one thread by a call, checked
  fork             products in this process, in an os.fork() and in a pool of processes, checked
"""

import ctypes
import multiprocessing
import os
import sys
import threading

import numpy

SHAPES = [(64, 48, 32), (200, 16, 8), (5, 6, 700), (333, 7, 129), (7, 300, 64)]


def check_product(m, n, k, dtype):
    random = numpy.random.default_rng(m * n + k)
    a = random.random((m, k) if m else k).astype(dtype)
    b = random.random((k, n) if n else k).astype(dtype)
    got = a @ b
    # Without optimisation einsum multiplies by itself, not with BLAS.
    subscripts = f"{'ij' if m else 'j'},{'jk' if n else 'j'}->{'i' if m else ''}{'k' if n else ''}"
    wanted = numpy.einsum(subscripts, a.astype("float64"), b.astype("float64"), optimize=False)
    if not numpy.allclose(got, wanted, rtol=1e-5 if dtype == "float32" else 1e-12):
        sys.exit(f"{m} x {n} x {k} {dtype} is wrong by {abs(got - wanted).max()}")


def check_gemm(dtype="float64"):
    for m, n, k in SHAPES:
        check_product(m, n, k, dtype)


def set_threads_of_blas(count):
    """Does what threadpoolctl does, for each OpenBLAS of the process. Returns False if there is none."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "openblas" in line.split()[-1]}
    functions = [getattr(library, name) for library in map(ctypes.CDLL, paths)
                 for name in ("openblas_set_num_threads", "scipy_openblas_set_num_threads64_")
                 if hasattr(library, name)]
    for function in functions:
        function(count)
    return bool(functions)


def check_limited():
    threads = os.cpu_count()
    check_product(300, 300, 300, "float64")
    if threads < 2 or not set_threads_of_blas(1):
        sys.exit(77)
    for _ in range(10):
        check_product(300, 300, 300, "float64")
    set_threads_of_blas(threads)
    check_product(300, 300, 300, "float64")


def check_gemv(dtype="float64"):
    for m, n, k in [(300, 0, 400), (0, 200, 70), (4, 0, 5000)]:
        check_product(m, n, k, dtype)


def check_spread(a, b, name):
    """Compares a @ b with what NumPy computes without BLAS."""
    with numpy.errstate(invalid="ignore"):
        got = a @ b
        columns = [(a * column).sum(axis=1) for column in numpy.atleast_2d(b.T)]
    wanted = columns[0] if b.ndim == 1 else numpy.stack(columns, axis=1)
    tiny = numpy.finfo(a.dtype).tiny
    if not numpy.allclose(got, wanted, rtol=1e-4, atol=tiny / 1000, equal_nan=True):
        sys.exit(f"{name}: {got} is not {wanted}")


def check_special(kind, dtype, orders):
    random = numpy.random.default_rng(5)
    for rows, depth in ((3000, 51), (700, 3), (33, 102), (5, 13), (64, 1)):
        for special in (numpy.nan, numpy.inf, -numpy.inf):
            for order in orders:
                a = numpy.ones((rows, depth), dtype, order=order)
                b = numpy.ones(depth if kind == "gemv" else (depth, 9), dtype, order=order)
                a[:, -1] = special
                b[-1] = 0
                check_spread(a, b, f"{rows} x {depth} {dtype} {order}, 0 times {special}")
                a[:, -1] = 0
                b[-1] = special
                check_spread(a, b, f"{rows} x {depth} {dtype} {order}, {special} times 0")
        # A few of them among many zeros.
        a = random.integers(-2, 3, (rows, depth)).astype(dtype)
        b = random.integers(-2, 3, depth if kind == "gemv" else (depth, 9)).astype(dtype)
        a[rows // 2, depth // 2] = numpy.inf
        a[-1, 0] = numpy.nan
        check_spread(a, b, f"{rows} x {depth} {dtype}, a few")
        small = numpy.finfo(dtype).tiny
        check_spread(numpy.full((rows, depth), small / 4, dtype), b.astype(dtype) * 0 + 1,
                     f"{rows} x {depth} {dtype}, denormal")


def check_threads():
    failures = []

    def work():
        try:
            for _ in range(20):
                check_gemm()
                check_gemv("float32")
        except BaseException as failure:  # Whatever it is, the main thread reports it.
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        sys.exit(str(failures[0]))


def square_sum(seed):
    a = numpy.random.default_rng(seed).random((50, 50))
    return float((a @ a).sum())


def check_fork():
    check_gemm()
    child = os.fork()
    if child == 0:
        check_gemm()
        check_gemv()
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("The child of a fork failed.")
    with multiprocessing.get_context("fork").Pool(3) as pool:
        sums = pool.map(square_sum, range(20))
    if not numpy.allclose(sums, [square_sum(seed) for seed in range(20)], rtol=1e-12):
        sys.exit("A pool of processes computes otherwise.")


def save_results(path):
    random = numpy.random.default_rng(3)
    results = {}
    for dtype in ("float32", "float64"):
        for m, n, k in SHAPES + [(300, 0, 400), (0, 200, 70)]:
            a = random.random((m, k) if m else k).astype(dtype)
            b = random.random((k, n) if n else k).astype(dtype)
            results[f"product {m} {n} {k} {dtype}"] = a @ b
            results[f"turned {m} {n} {k} {dtype}"] = b.T @ a.T
        square = random.random((80, 80)).astype(dtype) + 80 * numpy.eye(80, dtype=dtype)
        results[f"strided {dtype}"] = square[::2, ::2] @ square[::2, 1]
        results[f"inverse {dtype}"] = numpy.linalg.inv(square)
        results[f"solution {dtype}"] = numpy.linalg.solve(square, square[:, :3] * 2)
        results[f"singular {dtype}"] = numpy.linalg.svd(square, compute_uv=False)
        results[f"eigen {dtype}"] = numpy.linalg.eigvalsh(square + square.T)
        results[f"norm {dtype}"] = numpy.linalg.norm(square, 2)
    numpy.savez(path, **results)


def main():
    step = sys.argv[1]
    if step == "results":
        save_results(sys.argv[2])
    elif step == "gemm":
        check_gemm(sys.argv[2])
    elif step == "gemv":
        check_gemv(sys.argv[2])
    elif step == "special":
        check_special(*sys.argv[2:])
    elif step == "threads":
        check_threads()
    elif step == "limited":
        check_limited()
    elif step == "fork":
        check_fork()
    else:
        sys.exit(f"There is no step '{step}'.")


if __name__ == "__main__":
    main()
