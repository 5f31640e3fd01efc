#!/usr/bin/env python3
"""Computes products and decompositions with SciPy for programs.py: programs_child.py OUTPUT (.npz)."""

import sys

import numpy
import scipy.linalg
import scipy.linalg.blas as blas
import scipy.sparse.linalg


def main():
    random = numpy.random.default_rng(7)
    results = {}
    for letter, dtype in (("s", "float32"), ("d", "float64")):
        a, b, c = (random.random(shape).astype(dtype) for shape in ((60, 40), (40, 50), (60, 50)))
        gemm, gemv = getattr(blas, letter + "gemm"), getattr(blas, letter + "gemv")
        results[f"gemm {dtype}"] = gemm(0.5, a, b, beta=2, c=c)
        results[f"turned gemm {dtype}"] = gemm(1, b, a, trans_a=1, trans_b=1)
        results[f"gemv {dtype}"] = gemv(1, a, b[:, 0])
        square = random.random((90, 90)).astype(dtype) + 90 * numpy.eye(90, dtype=dtype)
        results[f"solution {dtype}"] = scipy.linalg.solve(square, square[:, :4] * 2)
        results[f"inverse {dtype}"] = scipy.linalg.inv(square)
        results[f"determinant {dtype}"] = numpy.array(numpy.log(abs(scipy.linalg.det(square))))
        results[f"root {dtype}"] = scipy.linalg.cholesky(square @ square.T)
        results[f"factors {dtype}"] = scipy.linalg.lu_factor(square)[0]
        results[f"eigen {dtype}"] = scipy.linalg.eigvalsh(square + square.T)
        results[f"singular {dtype}"] = scipy.linalg.svdvals(square)
        results[f"exponential {dtype}"] = scipy.linalg.expm(square / 90)
    numpy.savez(sys.argv[1], **results)


if __name__ == "__main__":
    main()
