"""Kernels tuned for other objectives than time, for the tests beside this file."""

import program

# Far more than an idle machine needs, which is done after thirty rounds.
TIME = ("--per-problem", "60s")
# A counter has to be watched for 0.2 s for each sample, thirty times for each finalist. A machine that
# is too busy for the first has what it compiled the next time.
TIMES_TO_BE_WHOLE = ("12s", "40s", "80s")


def config_of(point):
    words = point["candidate"].split("{")[1].rstrip("}").split(",")
    return {name: int(value) for name, value in (word.split("=") for word in words)}


def on_front(front):
    return [point for point in front["points"] if point["on_front"]]


def tune_whole(attune, kernel, objective, **settings):
    """Until every config was measured."""
    for per_problem in TIMES_TO_BE_WHOLE:
        result = attune.json("tune", *kernel, "--objective", objective, "--retune",
                             "--per-problem", per_problem, **settings)["problems"][0]
        if result["whole_space"]:
            break
    program.check(result["state"] == "tuned" and result["whole_space"], result)
    return result
