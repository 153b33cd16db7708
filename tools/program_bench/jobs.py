"""The training jobs of an instance."""

import numpy as np
from program_bench.instance import Instance, Job
from program_bench.services import home_weights
from program_bench.wishes import Wishes

_NODES = ((1,), (1, 2), (2, 4), (4, 8))
_LIKELY = 0.6


def draw_job(rng: np.random.Generator, inst: Instance, number: int, wishes: Wishes) -> Job:
    """Draw one job; its length is that on the fewest nodes of eight H100s."""
    hours = inst.T
    nodes = _NODES[int(rng.choice(4, p=[0.3, 0.35, 0.25, 0.1]))]
    length = int(rng.integers(max(2, hours // 12), max(3, hours // 3)))
    release = int(rng.integers(0, max(1, hours - int(1.6 * length))))
    given = int(length * rng.uniform(1.5, 3.0) * wishes.window_factor)
    work = nodes[0] * 8 * 2.45 * nodes[0] ** -0.06 * length * 0.9 * min(wishes.scale, 1.0)
    return Job(
        name=f"job{number}",
        work=float(np.round(work, 1)),
        min_mem=float(rng.choice([24, 40, 80])),
        nodes=nodes,
        node_gpus=8,
        release=release,
        deadline=int(min(hours, release + given + 1)),
        preemptible=bool(rng.random() < _LIKELY),
        restart_h=float(rng.choice([0.2, 0.5, 1.0])),
        home=int(rng.choice(inst.present, p=home_weights(inst.present))),
        ckpt_tb=float(rng.choice([0.2, 1.0, 4.0])),
        egress_per_tb=float(rng.choice([20.0, 90.0])),
        spot_ok=bool(rng.random() < _LIKELY),
    )
