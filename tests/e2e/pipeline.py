"""Import, tune, best, explain, run, export and report, on the processor with a tiny list."""

import csv
import io
import json

import program


def test(attune):
    listed = attune.folder / "tiny.txt"
    listed.write_text("MIOpenDriver conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -F 1\n"
                      "MIOpenDriver convfp16 -n 1 -c 4 -H 6 -W 6 -k 4 -F 1\n"
                      "MIOpenDriver pool -n 1 -c 4 -H 6 -W 6\n"
                      "gemm@1{m=16,n=16,k=16}\n")
    counts = attune.json("import", "tiny.txt", "--tag", "tiny")
    program.check(counts["read"] == counts["imported"] == 4, counts)
    program.check(counts["unsupported"] >= 1 and not counts["rejected"], counts)

    tuned = attune.json("tune", "--tag", "tiny", "--per-problem", "300ms")
    program.check(tuned["failed"] == tuned["not_reached"] == 0, tuned)
    program.check(tuned["tuned"] >= 2 and tuned["unsupported"] >= 1, tuned)
    again = attune.json("tune", "--tag", "tiny", "--per-problem", "300ms")
    program.check(again["tuned"] == 0 and again["already_tuned"] == tuned["tuned"], again)

    best = attune.json("best", "--tag", "tiny")
    program.check(len(best) == 4, best)
    needed = {"problem", "target", "candidate", "provenance", "median_ns", "default_candidate",
              "default_median_ns", "speedup"}
    program.check(all(needed <= set(entry) for entry in best), best)
    measured = [entry for entry in best if entry["provenance"] in ("measured", "default")]
    program.check(len(measured) == tuned["tuned"], best)

    entry = measured[0]
    evidence = attune.json("explain", entry["problem"])
    program.check(evidence["choice"]["candidate"] == entry["candidate"], evidence)
    program.check(any(s["used"] and s["trials"] for s in evidence["sets"]), evidence)
    timed = attune.json("run", entry["problem"], "--time", "20ms")
    program.check(timed["candidate"] == entry["candidate"] and timed["median_ns"] > 0, timed)

    exported = json.loads(attune.run("export", "--tag", "tiny", "--format", "json", "-o", "-")[0])
    program.check(exported["format"] == "attune-choices@1", exported)
    attune.run("export", "--tag", "tiny", "--format", "csv", "-o", "out.csv")
    rows = list(csv.DictReader(io.StringIO((attune.folder / "out.csv").read_text())))
    program.check(len(rows) == len(exported["choices"]), rows)
    attune.run("report", "--tag", "tiny", "-o", "report.html")
    page = (attune.folder / "report.html").read_text()
    program.check("<svg" in page and "http://" not in page and "https://" not in page,
                  "The report needs something from outside.")


program.main(test)
