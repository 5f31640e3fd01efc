#!/usr/bin/env python3
"""SEER's tables measured on an NVIDIA GPU: kernels of a small grid, every algorithm of
configurations, pooling, layouts, 1x1 convolutions and gradients; what was measured is not measured again, and a model is trained and asked.

Exits with 77 where there is no GPU with cuDNN.
"""

import csv

import program

DEVICE = "cuda:0"
program.TIMEOUT_S = 300
GRID = "N 32\nC 16 64\nW 14 28\nK 64 128\nf 1 3\np 0\n"
LAYERS = 2 * 2 * 2 * 2
POOLED = 2 * 2 * 2  # Channels out are those in.
LAID_OUT = 2 * 2  # And there is no window.
OPERATORS = {"maxpool": POOLED, "maxpool_grad": POOLED, "conv1x1": LAYERS // 2, "layout": LAID_OUT,
             "conv_grad_input": LAYERS, "conv_grad_filter": LAYERS}


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def collect(attune, *words):
    return attune.json("seer", "collect", "--device", DEVICE, *words)


def check_kernels(attune):
    grid = attune.folder / "grid.txt"
    grid.write_text(GRID, encoding="utf-8")
    table = attune.folder / "kernels.csv"
    words = ("--grid", grid, "--algorithms", "0,1,3", "-o", table,
             "--pre-kernels", attune.folder / "around.csv")
    first = collect(attune, *words)
    program.check(first["complete"] and first["measured"] == 2 * LAYERS, f"measured: {first}")
    program.check(first["unsupported"] == LAYERS, f"algorithm 3 is there: {first}")
    kernels = rows(table)
    for row in kernels:
        program.check(float(row["time_ms"]) > 0 and float(row["B"]) >= 1, f"a row: {row}")
        program.check(float(row["Bmax"]) >= 1, f"nobody knows the resident blocks: {row}")
    counted = sum(float(row["dram_reads"]) > 0 for row in kernels)
    print(f"{counted} of {len(kernels)} rows have counters")
    again = collect(attune, *words)
    program.check(again["known"] == 2 * LAYERS and again["measured"] == 0, f"again: {again}")


def check_times(attune):
    table = attune.folder / "times.csv"
    counts = collect(attune, "--configs", attune.data / "seer" / "configs.txt", "-o", table)
    program.check(counts["measured"] == 6, f"configurations: {counts}")
    for row in rows(table):
        supported = [i for i in range(8) if float(row[f"t{i}"]) > 0]
        program.check(0 in supported and 3 not in supported, f"supported: {row}")
        program.check(int(row["pick"]) in supported, f"cuDNN's pick is one of them: {row}")


def check_operators(attune):
    table = attune.folder / "operators.csv"
    counts = collect(attune, "--grid", attune.folder / "grid.txt", "-o", table,
                     "--operators", "maxpool,maxpool_grad,conv_grad,conv1x1,layout")
    program.check(counts["measured"] == sum(OPERATORS.values()), f"operators: {counts}")
    for row in rows(table):
        program.check(float(row["time_ms"]) > 0, f"a row: {row}")
    model = attune.folder / "operators.seer"
    attune.run("seer", "train", attune.data / "seer" / "kernels.csv", "--operators", table, "-o",
               model)
    scores = attune.json("seer", "evaluate", model, "--operators", table)["operators"]
    for name, count in OPERATORS.items():
        program.check(scores[name]["count"] == count, f"scores: {scores}")


def check_cold(attune):
    """The same layers with caches displaced: each takes as long as before, or longer, and is read from DRAM."""
    words = ("--grid", attune.folder / "grid.txt", "--algorithms", "0")
    table = attune.folder / "cold.csv"
    cold = collect(attune, *words, "--cache", "cold", "-o", table)
    program.check(cold["complete"] and cold["measured"] == LAYERS, f"cold: {cold}")
    text = table.read_text(encoding="utf-8")
    program.check(text.startswith("# caches cold\n"), text[:100])
    table.with_suffix(".rows").write_text(text.partition("\n")[2], encoding="utf-8")
    warm = {tuple(row[name] for name in "NCWKPfsp"): row for row in rows(attune.folder / "kernels.csv")
            if row["algorithm"] == "0"}
    slower = 0
    for row in rows(table.with_suffix(".rows")):
        before = warm[tuple(row[name] for name in "NCWKPfsp")]
        slower += float(row["time_ms"]) > 0.95 * float(before["time_ms"])
        if float(row["dram_reads"]) > 0:
            program.check(float(row["dram_reads"]) >= float(before["dram_reads"]), (row, before))
    program.check(slower >= LAYERS * 3 // 4, f"cold caches are no slower: {slower} of {LAYERS}")
    err = attune.run("seer", "collect", "--device", DEVICE, *words, "-o", table, status=2)[1]
    program.check("cannot continue" in err, err)
    again = collect(attune, *words, "--cache", "cold", "-o", table)
    program.check(again["known"] == LAYERS and again["measured"] == 0, f"again: {again}")


def test(attune):
    program.require_device(attune, DEVICE)
    if "cuda.cudnn-conv" not in attune.run("solvers", "--device", DEVICE)[0]:
        program.skip("there is no cuDNN here")
    check_kernels(attune)
    check_times(attune)
    check_operators(attune)
    check_cold(attune)


program.main(test)
