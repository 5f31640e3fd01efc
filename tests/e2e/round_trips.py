"""attune reads its own exports: every format, with problems of every operator."""

import program

GEMMS = ["gemm@1{m=24,n=16,k=8%s}" % fields for fields in (
    "", ",ta=t", ",tb=t", ",ta=t,tb=t", ",type=f64", ",type=f64,ta=t", ",lda=40,ldb=40,ldc=40", ",batch=3",
    ",batch=3,sb=0", ",batch=3,type=f64,ta=t", ",beta=one", ",alpha=other,beta=other", ",bias=row", ",bias=column",
    ",act=relu", ",ta=t,bias=row,act=gelu", ",batch=2,bias=row", ",align=16", ",det=1")]
CONVS = ["conv@1{dir=%s,n=1,c=4,h=8,w=8,k=4,fh=3,fw=3%s}" % (direction, fields)
         for direction in ("fwd", "bwd_data", "bwd_weights")
         for fields in ("", ",layout=nhwc,wlayout=nhwc,ylayout=nhwc", ",g=2", ",ph=1,pw=1,sh=2,sw=2")]
CONVS.append("conv@1{dir=fwd,n=1,c=4,h=8,w=8,k=4,fh=3,fw=3,bias=1}")
NORMS = ["softmax@2{%s}" % fields for fields in (
    "outer=24,length=40", "outer=24,length=40,log=1", "dir=bwd,outer=24,length=40", "outer=6,length=10,inner=5,type=f16")]
NORMS += ["batch_norm@1{%sn=4,c=8,h=6,w=6%s}" % fields for fields in (
    ("", ",running=1,saved=1"), ("", ",layout=nhwc,fuse=relu"), ("dir=infer,", ""), ("dir=bwd,", ",saved=1"))]
PROBLEMS = GEMMS + CONVS + NORMS
KERNEL = ("--kernel", "axpy.json", "--device", "opencl:0")


def tune(attune):
    """The texts of the problems that are tuned, in order."""
    (attune.folder / "list.txt").write_text("".join(f"{problem}\n" for problem in PROBLEMS))
    attune.run("import", "list.txt", "--tag", "all")
    attune.run("tune", "--tag", "all", "--per-problem", "150ms")
    best = attune.json("best", "--tag", "all")
    tuned = [choice["problem"] for choice in best if choice["provenance"] != "untuned"]
    program.check(len(tuned) == len(PROBLEMS), [choice for choice in best if choice["provenance"] == "untuned"])
    # Where nothing is known.
    attune.run("import", "list.txt", "--tag", "all", "--db", "empty.db")
    return tuned


def served(attune, problem, **settings):
    """The option that a run time serves without records of its own."""
    explained = attune.json("explain", problem, "--db", "empty.db", **settings)
    return explained["serving"]["options"][0]


def check_served(attune, problems, **settings):
    for problem in problems:
        option = served(attune, problem, **settings)
        program.check(option["provenance"] == "measured", (problem, settings, option))


def test_results_serve_every_problem(attune, tuned):
    attune.run("export", "--tag", "all", "--format", "tunableop", "-o", "results0.csv")
    check_served(attune, tuned, ATTUNE_TUNABLE_ENABLED="1", ATTUNE_TUNABLE_FILENAME="results.csv")
    # By the very name, too.
    check_served(attune, tuned[:1], ATTUNE_TUNABLE_ENABLED="1", ATTUNE_TUNABLE_FILENAME="results0.csv")
    program.check(served(attune, tuned[0])["provenance"] == "default", "an empty database knows something")
    one = attune.run("export", "--problem", tuned[0], "--format", "tunableop", "-o", "-")[0].splitlines()
    program.check(one[-1] in (attune.folder / "results0.csv").read_text().splitlines(), one)


def test_results_of_the_first_release_serve(attune, tuned):
    """It wrote gemms alone, without their text, under one validator."""
    lines = [line for line in (attune.folder / "results0.csv").read_text().splitlines()
             if line.startswith("GemmTunableOp_float_NN,nn_24_16_8_ld_24_8_24,")]
    old = lines[0].split(",ATTUNE_PROBLEM")[0]
    (attune.folder / "old0.csv").write_text(f"Validator,ATTUNE_VERSION,attune 0.1.0\n{old}\n")
    check_served(attune, GEMMS[:1], ATTUNE_TUNABLE_ENABLED="1", ATTUNE_TUNABLE_FILENAME="old.csv")


def test_every_list_is_imported(attune, tuned):
    for name in ("json", "csv", "tunableop"):
        attune.run("export", "--tag", "all", "--format", name, "-o", f"export.{name}")
    (attune.folder / "problems.json").write_text(attune.run("problems", "--tag", "all", "--json")[0])
    (attune.folder / "problems.txt").write_text(attune.run("problems", "--tag", "all")[0])
    (attune.folder / "best.json").write_text(attune.run("best", "--tag", "all", "--json")[0])
    for name in ("export.json", "export.csv", "export.tunableop", "problems.json", "problems.txt", "best.json"):
        attune.run("import", name, "--tag", "again", "--db", f"{name}.db")
        again = [problem["problem"] for problem in attune.json("problems", "--tag", "again", "--db", f"{name}.db")]
        program.check(again == tuned, (name, again))


def test_a_package_serves_every_problem(attune, tuned):
    attune.run("package", "create", "--tag", "all", "-o", "package")
    check_served(attune, tuned, ATTUNE_PACKAGES=str(attune.folder / "package"))


def test_an_untuned_file_is_tuned_served_and_imported(attune, tuned):
    results = (attune.folder / "results0.csv").read_text().splitlines()
    lines = [line for line in results if not line.startswith("Validator,")]
    picked = [0, 3, 9, 10, 15, len(GEMMS), len(GEMMS) + 4, len(GEMMS) + 8]
    picked += [len(GEMMS + CONVS) + i for i in range(len(NORMS))]
    # Op and params, and the fields that they leave out.
    untuned = []
    for i in picked:
        names, _, text = lines[i].partition(",ATTUNE_PROBLEM: ")
        untuned.append(",".join(names.split(",")[:2]) + (f",ATTUNE_PROBLEM: {text}" if text else ""))
    (attune.folder / "untuned0.csv").write_text("".join(f"{line}\n" for line in untuned))

    out = attune.run("tunable", "untuned0.csv", "--device", "cpu", "-o", "tuned.csv", "--per-problem", "300ms",
                     "--db", "tunable.db")[0]

    program.check(out.startswith(f"{len(picked)} tuned, 0 known before, 0 without a result."), out)
    problems = [PROBLEMS[i] for i in picked]
    check_served(attune, problems, ATTUNE_TUNABLE_ENABLED="1", ATTUNE_TUNABLE_FILENAME="tuned_full.csv")
    attune.run("import", "untuned0.csv", "--tag", "again", "--db", "untuned.db")
    again = attune.json("problems", "--tag", "again", "--db", "untuned.db")
    program.check([problem["problem"] for problem in again] == [tuned[i] for i in picked], again)


def test_a_kernel_leaves_as_t4_and_space_and_comes_back(attune):
    for name in ("axpy.json", "axpy.cl", "axpy_reference.py"):
        (attune.folder / name).write_bytes((attune.data / "own_kernel" / name).read_bytes())
    attune.run("tune", *KERNEL, "--size", "n=4096", "--per-problem", "2s")
    attune.run("export", *KERNEL, "--size", "n=4096", "--format", "t4", "-o", "kernel.t4")
    attune.run("export", *KERNEL, "--size", "n=4096", "--format", "space", "-o", "kernel.csv")
    attune.run("export", "--results", "kernel.t4", "--format", "space", "-o", "again.csv")
    program.check((attune.folder / "kernel.csv").read_text() == (attune.folder / "again.csv").read_text(), "T4")
    attune.run("tune", *KERNEL, "--size", "n=8192", "--per-problem", "1s", "--prior", "kernel.t4")
    attune.run("export", *KERNEL, "--wisdom", "-o", "wisdom.json")
    attune.run("export", *KERNEL, "--format", "tunableop", "-o", "kernel0.csv")
    problem = attune.json("best", *KERNEL, "--size", "n=4096")[0]["problem"]
    option = attune.json("explain", problem, "--device", "opencl:0", "--db", "empty.db",
                         ATTUNE_KERNEL_PATH=str(attune.folder), ATTUNE_TUNABLE_ENABLED="1",
                         ATTUNE_TUNABLE_FILENAME="kernel.csv.none")["serving"]["options"][0]
    program.check(option["provenance"] == "default", option)
    option = attune.json("explain", problem, "--device", "opencl:0", "--db", "empty.db",
                         ATTUNE_KERNEL_PATH=str(attune.folder), ATTUNE_TUNABLE_ENABLED="1",
                         ATTUNE_TUNABLE_FILENAME="kernel0.csv")["serving"]["options"][0]
    program.check(option["provenance"] == "measured", option)


def test(attune):
    tuned = tune(attune)
    test_results_serve_every_problem(attune, tuned)
    test_results_of_the_first_release_serve(attune, tuned)
    test_every_list_is_imported(attune, tuned)
    test_a_package_serves_every_problem(attune, tuned)
    test_an_untuned_file_is_tuned_served_and_imported(attune, tuned)
    program.require_device(attune, "opencl:0")
    test_a_kernel_leaves_as_t4_and_space_and_comes_back(attune)


program.main(test)
