"""The tuner of running programs keeps to its part of one core: it rests, says for how long, and
answers nothing before."""

import json
import subprocess
import time

import program


def ask(tuner, size):
    problem = f"gemm@1{{m={size},n={size},k={size}}}"
    tuner.stdin.write(json.dumps({"version": 2, "tune": problem, "terms": {}}) + "\n")
    tuner.stdin.flush()
    return json.loads(tuner.stdout.readline())


def test(attune):
    words = ["--db", "rest.db", "--device", "fake", "--per-problem", "200ms", "--cpu-share", "0.05"]
    with subprocess.Popen([str(attune.binary.parent / "attune-tuner"), *words], cwd=attune.folder,
                          env=attune.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as tuner:
        first = ask(tuner, 16)
        begin_s = time.monotonic()
        second = ask(tuner, 24)
        passed_s = time.monotonic() - begin_s
        tuner.stdin.close()
        program.check(tuner.wait(timeout=60) == 0, tuner.returncode)
    for answer in (first, second):
        program.check(answer["outcome"] == "tuned", answer)
        # Starting children alone takes more than a twentieth of the time that it takes.
        program.check(answer["rest_ms"] > 0, answer)
    program.check(1000 * passed_s > first["rest_ms"], (passed_s, first))


program.main(test)
