#!/usr/bin/env python3
"""Cuts the samples of this folder out of databases that MIOpen ships.

  cut_samples.py FOLDER   # with gfx906_60.HIP.fdb.txt.bz2 and the others, as named below

Lines and rows are taken as they are; what a line is taken for stands beside it. README.md says what
each file is.
"""

import bz2
import hashlib
import pathlib
import random
import sqlite3
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ("spatial_dim in_channels in_h in_w in_d fil_h fil_w fil_d out_channels batchsize pad_h "
           "pad_w pad_d conv_stride_h conv_stride_w conv_stride_d dilation_h dilation_w dilation_d "
           "bias group_count layout data_type direction").split()
# A line goes where it is the first of so many with the text; an empty text is any line.
WANTED = {
    "gfx906_60.HIP": [("-64-56-56-16-1x1-1x1-1x1-0-NCHW", 8), ("-128-28-28-16-", 6),
                      ("-7x7-64-112-112-", 4), ("NCDHW", 8), ("-W=", 4), ("NHWC", 6), ("_g", 6),
                      ("INT8", 4), ("2x2-0-NCHW", 4), ("Algo", 4)],
    "gfx1030_36.HIP": [("-64-56-56-16-1x1-1x1-1x1-0-NCHW", 8), ("-128-28-28-16-", 6),
                       ("-7x7-64-112-112-", 4), (",0.0,", 6), ("not used", 6), ("NCDHW", 6),
                       ("NHWC", 4), ("BF16", 4), ("_g", 6)],
    "gfx90878.HIP": [("-64-56-56-16-", 8), (":0.0,", 6), ("NCDHW", 10), ("NHWC", 6), ("_g", 6),
                     ("INT8", 4), ("BF16", 4), ("e-0", 4)],
    "gfx803_36.OpenCL": [("", 24), ("FFT_x", 6), ("MIOpenGEMM", 6), ("not used", 2),
                         ("<unused>", 4), ("_g", 4), ("miopenTranspose", 2)],
}


def cut_find_db(folder, name):
    """The lines of a sample, in the order in which the whole has them."""
    wanted = [[text, count] for text, count in WANTED[name]]
    lines = []
    for line in bz2.open(folder / f"{name}.fdb.txt.bz2", "rt", newline=""):
        for part in wanted:
            if part[1] > 0 and part[0] in line:
                part[1] -= 1
                lines.append(line)
                break
    (HERE / f"{name}.fdb.txt").write_text("".join(lines), newline="")
    return [line.split("=")[0] for line in lines]


def perf_key(find_key):
    """The values of the columns for a key of a find-db."""
    fields = find_key.split("-")
    is_3d = "x" not in fields[3]
    if not is_3d:  # Depths of 2-D: 1 of images and filters, 0 of the others.
        fields[1:1] = ["1"]
        fields[7:7] = ["1"]
    channels, *picture = fields[:4]
    filters, out_channels, batch = fields[4], fields[5], fields[9]
    depths = ("1", "0", "0", "0")
    spatial = [text.split("x") if is_3d else [depths[i], *text.split("x")]
               for i, text in enumerate((filters, *fields[10:13]))]
    turned = [value for extents in (picture, spatial[0]) for value in (*extents[1:], extents[0])]
    turned_rest = [value for extents in spatial[1:] for value in (*extents[1:], extents[0])]
    direction, _, groups = fields[-1].partition("_g")
    return ["3" if is_3d else "2", channels, *turned, out_channels, batch, *turned_rest, fields[13],
            groups or "1", fields[14], fields[-2], direction]


def open_whole(folder, name):
    with tempfile.NamedTemporaryFile(suffix=".db") as whole:
        whole.write(bz2.decompress((folder / f"{name}.db.bz2").read_bytes()))
        whole.flush()
        source = sqlite3.connect(whole.name)
        memory = sqlite3.connect(":memory:")
        source.backup(memory)
    return memory


def fresh(path):
    path.unlink(missing_ok=True)
    return sqlite3.connect(path)


def cut_perf_db(folder, name, find_keys):
    """Configurations of the find-db's sample, and the first with and without parameters."""
    whole = open_whole(folder, name)
    ids = {}
    where = " AND ".join(f"CAST({column} AS TEXT) = ?" for column in COLUMNS)
    for key in find_keys:
        for (row,) in whole.execute(f"SELECT id FROM config WHERE {where}", perf_key(key)):
            ids[row] = True
    for condition, count in (("IN", 40), ("NOT IN", 3)):
        for (row,) in whole.execute(f"SELECT id FROM config WHERE id {condition} "
                                    f"(SELECT config FROM perf_db) ORDER BY id LIMIT {count}"):
            ids[row] = True
    path = HERE / f"{name}.db"
    sample = fresh(path)
    for (text,) in whole.execute("SELECT sql FROM sqlite_master WHERE type = 'table'"):
        sample.execute(text)
    for row in sorted(ids):
        values = whole.execute("SELECT * FROM config WHERE id = ?", (row,)).fetchone()
        sample.execute(f"INSERT INTO config VALUES ({', '.join('?' * len(values))})", values)
        sample.executemany("INSERT INTO perf_db VALUES (?, ?, ?, ?)", whole.execute(
            "SELECT id, solver, config, params FROM perf_db WHERE config = ?", (row,)))
    for (text,) in whole.execute("SELECT sql FROM sqlite_master WHERE type = 'index'"):
        sample.execute(text)
    sample.commit()
    sample.execute("VACUUM")
    sample.close()
    return path


def records(path):
    """[values of the columns, [(solver, params)]] of a perf-db, without what has no parameters."""
    database = sqlite3.connect(path)
    found = []
    for row, *values in database.execute(f"SELECT id, {', '.join(COLUMNS)} FROM config"):
        items = database.execute("SELECT solver, params FROM perf_db WHERE config = ? ORDER BY id",
                                 (row,)).fetchall()
        if items:
            found.append([[str(value) for value in values], items])
    return found


def write_text(path, lines):
    path.write_text("".join(f"{key}={';'.join(f'{solver}:{params}' for solver, params in items)}\n"
                            for key, items in sorted(lines)), newline="")


def write_one_for_all(paths):
    """Version 1.0.0: the same tables, with the GPU in each row."""
    database = fresh(HERE / "miopen.db")
    configs = {}
    rows = []
    for gpu, path in paths.items():
        for values, items in records(path)[:20]:
            row = configs.setdefault(tuple(values), len(configs) + 1)
            rows += [(solver, row, *gpu, params) for solver, params in items]
    sql = dict(sqlite3.connect(path).execute("SELECT name, sql FROM sqlite_master"))
    database.execute(sql["config"])
    database.execute(sql["perf_db"].replace(
        "`params`", "`arch` TEXT NOT NULL,`num_cu` INTEGER NOT NULL,`params`"))
    for values, row in configs.items():
        database.execute(f"INSERT INTO config (id, {', '.join(COLUMNS)}) VALUES "
                         f"({', '.join('?' * 25)})", (row, *values))
    database.executemany("INSERT INTO perf_db (solver, config, arch, num_cu, params) "
                         "VALUES (?, ?, ?, ?, ?)", rows)
    database.execute(sql["idx_config"])
    database.execute("CREATE UNIQUE INDEX `idx_perf_db` ON perf_db(solver, config, arch, num_cu)")
    database.commit()
    database.close()


def write_kernels(path):
    """Made up: no code of AMD's."""
    database = fresh(path)
    database.execute("CREATE TABLE IF NOT EXISTS `kern_db` (`id` INTEGER PRIMARY KEY ASC,"
                     "`kernel_name` TEXT NOT NULL,`kernel_args` TEXT NOT NULL,`kernel_blob` BLOB "
                     "NOT NULL,`kernel_hash` TEXT NOT NULL,`uncompressed_size` INT NOT NULL)")
    database.execute("CREATE UNIQUE INDEX IF NOT EXISTS `idx_kern_db` ON "
                     "kern_db(kernel_name, kernel_args)")
    source = random.Random(7)
    code = [bytes(4096), b"\x7fELF" + b"conv" * 500, source.randbytes(300), b"naive" * 200,
            b"winograd" * 100, b"xdlops" * 100]
    names = ["conv1x1u.s.o", "MIOpenConvDirUni.cl.o", "MIOpenConvBwdWrWS2.cl.o", "naive_conv.cpp.o",
             "Conv_Winograd_v21_1_3.s.o", "static_composable_kernel.cpp.o"]
    for i, (name, plain) in enumerate(zip(names, code)):
        blob, size = bz2.compress(plain, 9), len(plain)
        if len(blob) >= len(plain):
            blob, size = plain, 0
        digest = hashlib.md5(plain).hexdigest()
        if name.startswith("Conv_Winograd"):
            digest = hashlib.md5(b"another").hexdigest()
        if name.startswith("static"):
            blob = blob[:len(blob) // 2]
        options = f" -Wa,-defsym,stride_h={i} -Wa,-defsym,pad_h=0 -mcpu=gfx906"
        database.execute("INSERT INTO kern_db (kernel_name, kernel_args, kernel_blob, kernel_hash, "
                         "uncompressed_size) VALUES (?, ?, ?, ?, ?)",
                         (name, options, blob, digest, size))
    database.commit()
    database.close()


def main():
    folder = pathlib.Path(sys.argv[1])
    keys = {name: cut_find_db(folder, name) for name in WANTED}
    paths = {("gfx906", 60): cut_perf_db(folder, "gfx906_60", keys["gfx906_60.HIP"]),
             ("gfx1030", 36): cut_perf_db(folder, "gfx1030_36", keys["gfx1030_36.HIP"])}
    write_text(HERE / "gfx1030_36.db.txt",
               [["x".join(values), items] for values, items in records(paths[("gfx1030", 36)])])
    items_of = {"x".join(values): items for values, items in records(paths[("gfx906", 60)])}
    write_text(HERE / "gfx906_60.cd.pdb.txt",
               [[key, items_of["x".join(perf_key(key))]] for key in keys["gfx906_60.HIP"]
                if "x".join(perf_key(key)) in items_of])
    write_one_for_all(paths)
    write_kernels(HERE / "gfx906.kdb")


if __name__ == "__main__":
    main()
