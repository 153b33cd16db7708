"""The part of docs/accuracy.md on spot capacity."""

from judge_spot import own_clusters

from broker.specs.load import Specs


def section(_specs: Specs, _splits: int) -> list[str]:
    """Give the lines: what the project's own traces show, and what others showed."""
    lines = [
        "## Spot: interruptions",
        "",
        "| cluster (Bamboo, NSDI 2023) | losses | instance-hours per loss |",
        "| --- | --- | --- |",
    ]
    lines += [
        f"| {name} | {losses} | {hours / losses:.1f} |" for name, losses, hours in own_clusters()
    ]
    return [
        *lines,
        "",
        (
            "Other public traces may not be shipped. On 2026-11-28, on 27 of them (K80, V100, CPU; "
            "591 kinds of job), the first half of a trace predicted the billed hours of the second "
            "to 3.6 / 23 % (median / p90; known 4.9 / 22 %, goal 4 / 18 %); to 1.9 / 8 % where "
            "capacity lasts over five times an interval and a restart. One constant of that "
            "forecast was chosen on these traces; chosen on half of them, it is 4.2 / 25 % on the "
            "others. The nominal 90 % range of the makespan held 78 % of the replays: good and bad "
            "days cluster. `tools/accuracy/judge_spot.py FOLDER` repeats it where the traces are."
        ),
        "",
    ]
