"""Time 1,000 serving estimates, and 1,000 searches for the largest rate within an objective.

python tools/bench_sizing.py
"""

import time

from broker.domain.gpu import Precision
from broker.specs.load import Specs, load_specs
from solver.sizing.links import pcie_link
from solver.sizing.precisions import serving_arithmetic
from solver.sizing.roofline import costs_of
from solver.sizing.serving_estimate import serving_estimate
from solver.sizing.serving_facts import Replica, Split, step_facts
from solver.sizing.serving_memory import room, sequence_gib
from solver.sizing.serving_rate import Demand, Limits, largest_operation
from solver.sizing.serving_trust import serving_trust

_COUNT = 1000
_LIMITS = Limits(ttft_s=2.0, ttft_share=0.95, tpot_s=0.05, tpot_share=0.95)


def main() -> int:
    """Print both times."""
    replicas = _replicas(load_specs())
    for name, work in (("estimates", _estimate), ("largest rates", _largest)):
        start = time.perf_counter()
        for number in range(_COUNT):
            work(replicas[number % len(replicas)], 100.0 + number)
        print(f"{_COUNT} {name}: {time.perf_counter() - start:.2f} s")
    return 0


def _estimate(replica: Replica, input_tokens: float) -> object:
    return serving_estimate(replica, input_tokens=input_tokens, output_tokens=200.0, clients=32.0)


def _largest(replica: Replica, input_tokens: float) -> object:
    facts = step_facts(replica, input_tokens=input_tokens, output_tokens=200.0)
    demand = Demand(
        costs=costs_of(facts),
        new_tokens=input_tokens,
        output_tokens=200,
        neighbour_tokens=input_tokens,
        neighbour_variation=0.0,
        max_sequences=room(replica).max_sequences(
            sequence_gib(replica, tokens=input_tokens + 200.0)
        ),
    )
    return largest_operation(demand, limits=_LIMITS, pessimism=serving_trust(replica).pessimism)


def _replicas(specs: Specs) -> list[Replica]:
    found = []
    for gpu in (specs.gpu(name) for name in ("H100-SXM", "H200-SXM", "B200", "L40S")):
        for name in ("llama-3.1-8b", "qwen3-32b", "qwen3-30b-a3b"):
            arithmetic = serving_arithmetic(gpu=gpu, precision=Precision.FP8)
            if arithmetic is not None:
                link = pcie_link(gpu)
                found.append(Replica(gpu, specs.llm(name), arithmetic, Split(tensor=2), link))
    return found


if __name__ == "__main__":
    raise SystemExit(main())
