"""The largest rate of requests that one replica sustains within its latency objective.

With N sequences decoding on average, one step takes step(N) and a request stays output × step(N),
so the rate is N/(output × step(N)) (Little). Everything that the objective limits grows with N:

    TPOT  ← step at the percentile of the number in flight
    TTFT  ← rest of the running step + own prompt + wait behind other prompts, at its percentile
    memory ← sequences at the percentile, each with its whole context

and so does the rate: a search on fixed, nested grids finds the largest N, so that nothing that is
looser or faster lowers it. A grid is worked out at once, as arrays.
Both times are tested at the bad end of the error band, not at the estimate.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solver.sizing import serving_constants as constants
from solver.sizing.queueing import residual_s, sequences_at, wait_s
from solver.sizing.roofline import StepCosts, felt_step, mean_step, step
from solver.sizing.serving_facts import Number

IDLE_SEQUENCES = 1e-7
"""So few decode at a time that hardly any request meets another one, however short its answer."""

_LEAST_SEQUENCES = 0.01
_GRID = 256
_GRIDS = 2
"""Points of a grid, and grids inside each other: the largest N is found to 0.02 %."""


@dataclass(frozen=True, slots=True)
class Limits:
    """A latency objective: seconds and the shares of requests that must stay within them."""

    ttft_s: float
    ttft_share: float
    tpot_s: float
    tpot_share: float


@dataclass(frozen=True, slots=True)
class Pessimism:
    """Factors from the estimated to the tested time: the bad ends of the error bands."""

    ttft_factor: float
    tpot_factor: float


@dataclass(frozen=True, slots=True)
class Demand:
    """Requests of one size on one replica.

    `new_tokens` of the prompt are not found in a cache. `neighbour_tokens` is the mean of that over
    the whole service and `neighbour_variation` the squared coefficient of variation, as prompts
    wait behind those of other sizes too. `ranks` of attention data parallelism share the requests.
    """

    costs: StepCosts
    new_tokens: float
    output_tokens: int
    neighbour_tokens: float
    neighbour_variation: float
    max_sequences: float
    ranks: int = 1


@dataclass(frozen=True, slots=True)
class Operation:
    """A replica at work: the rate, the sequences in flight at the percentile, the tested times."""

    requests_per_s: Number
    sequences: Number
    ttft_s: Number
    tpot_s: Number

    def at(self, place: int) -> "Operation":
        """Give one point of an operation that was worked out for many."""
        return Operation(
            *(
                float(np.asarray(one)[place])
                for one in (self.requests_per_s, self.sequences, self.ttft_s, self.tpot_s)
            )
        )


def operation(
    demand: Demand, *, mean_sequences: Number, limits: Limits, pessimism: Pessimism
) -> Operation:
    """Work out rate and times with `mean_sequences` decoding on average; of arrays, all at once."""
    costs, outputs = demand.costs, demand.output_tokens
    steady = steady_step_s(demand, mean_sequences)
    rate = mean_sequences / (outputs * steady)
    own = own_prompt_s(costs, mean_sequences, demand.new_tokens)
    waited = wait_of(
        demand, mean_sequences=mean_sequences, requests_per_s=rate, share=limits.ttft_share
    )
    first = limits.ttft_share * steady + own + waited
    crowd = sequences_at(
        mean=mean_sequences, share=limits.tpot_share, dispersion=constants.ARRIVAL_DISPERSION
    )
    held = sequences_at(
        mean=mean_sequences + rate * own,
        share=limits.ttft_share,
        dispersion=constants.ARRIVAL_DISPERSION,
    )
    return Operation(
        requests_per_s=rate * demand.ranks,
        sequences=held,
        ttft_s=first * pessimism.ttft_factor,
        tpot_s=step_among_s(demand, crowd) * pessimism.tpot_factor,
    )


def own_prompt_s(costs: StepCosts, sequences: Number, new_tokens: float) -> Number:
    """Time the steps that carry one prompt, in chunks of equal size, beside decoding sequences."""
    chunks = math.ceil(new_tokens / constants.CHUNK_TOKENS)
    return chunks * step(costs, sequences=sequences, prompt_tokens=new_tokens / chunks, carries=1.0)


def wait_of(
    demand: Demand, *, mean_sequences: Number, requests_per_s: Number, share: float
) -> Number:
    """Give the wait behind other prompts, in seconds, that `share` of the requests do not exceed.

    Prompts queue for the token budget of the steps: a budget of C tokens beside N sequences takes
    step(N, C), so a token takes step(N, C)/C, and ρ = rate × input × that. The wait is that behind
    the service's own mix of prompts, or behind its own size if that is longer. The first token
    comes after it, the rest of the running step, and the steps of the own prompt.
    """
    budget = float(constants.CHUNK_TOKENS)
    full = step(demand.costs, sequences=mean_sequences, prompt_tokens=budget, carries=1.0)
    token_s = full / constants.CHUNK_TOKENS
    dispersion = constants.ARRIVAL_DISPERSION
    own = residual_s(
        mean_s=demand.new_tokens * token_s, squared_variation=0.0, dispersion=dispersion
    )
    mixed = residual_s(
        mean_s=demand.neighbour_tokens * token_s,
        squared_variation=demand.neighbour_variation,
        dispersion=dispersion,
    )
    return wait_s(
        utilization=requests_per_s * demand.new_tokens * token_s,
        residual=np.maximum(own, mixed),
        share=share,
    )


def largest_operation(demand: Demand, *, limits: Limits, pessimism: Pessimism) -> Operation | None:
    """Find the largest rate that keeps every limit; None where not even one request does."""
    ranges = ((_LEAST_SEQUENCES, constants.MAX_SEQUENCES), (IDLE_SEQUENCES, _LEAST_SEQUENCES))
    for least, most in ranges:  # of long prompts with short answers, few decode at a time
        logs = math.log(least), math.log(most)
        best = _largest_between(*logs, demand=demand, limits=limits, pessimism=pessimism)
        if best is not None:
            return best
    return None


def _largest_between(
    low: float, high: float, *, demand: Demand, limits: Limits, pessimism: Pessimism
) -> Operation | None:
    """Search between two logarithms of N."""
    best: Operation | None = None
    for _ in range(_GRIDS):
        points = np.linspace(low, high, _GRID)
        tried = operation(demand, mean_sequences=np.exp(points), limits=limits, pessimism=pessimism)
        kept = np.flatnonzero(~keeps(tried, demand=demand, limits=limits))
        last = (int(kept[0]) if kept.size else _GRID) - 1
        if last < 0:
            return best
        best = tried.at(last)
        if last == _GRID - 1:
            return best
        low, high = float(points[last]), float(points[last + 1])
    return best


def keeps(done: Operation, *, demand: Demand, limits: Limits) -> NDArray[np.bool_]:
    """Say whether an operation is within memory and both limits; one-token answers have no TPOT."""
    in_time = np.less_equal(done.ttft_s, limits.ttft_s)
    in_room = np.less_equal(done.sequences, demand.max_sequences)
    in_pace = np.less_equal(done.tpot_s, limits.tpot_s) | (demand.output_tokens == 1)
    return np.asarray(in_time & in_room & in_pace, dtype=np.bool_)


def steady_step_s(demand: Demand, sequences: Number) -> Number:
    """Time a step in seconds when every sequence that ends is followed by a new prompt."""
    return mean_step(
        demand.costs,
        sequences=sequences,
        prompts_per_step=sequences / demand.output_tokens,
        new_tokens=demand.new_tokens,
    )


def step_among_s(demand: Demand, sequences: Number) -> Number:
    """Time a step in seconds as one of `sequences` meets it: only the others bring prompts."""
    return felt_step(
        demand.costs,
        sequences=sequences,
        prompts_per_step=(sequences - 1) / demand.output_tokens,
        new_tokens=demand.new_tokens,
    )
