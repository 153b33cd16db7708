"""The largest rate of requests that one replica sustains within its latency objective.

With N sequences decoding on average, one step takes step(N) and a request stays output × step(N),
so the rate is N/(output × step(N)) (Little). Everything that the objective limits grows with N:

    TPOT  ← step at the percentile of the number in flight
    TTFT  ← rest of the running step + own prompt + wait behind other prompts, at its percentile
    memory ← sequences at the percentile, each with its whole context

and so does the rate: bisection on a fixed grid finds the largest N, so that nothing that is looser
or faster lowers it.
Both times are tested at the bad end of the error band, not at the estimate.
"""

import math
from dataclasses import dataclass

from solver.sizing import constants
from solver.sizing.queueing import residual_s, sequences_at, wait_s
from solver.sizing.roofline import StepCosts, mean_step_s, step_s

_BISECTIONS = 20
"""Halvings of the logarithm between the least and the most sequences: to 0.002 %."""
_LEAST_SEQUENCES = 0.01


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

    `neighbour_tokens` is the mean prompt of the whole service and `neighbour_variation` the squared
    coefficient of variation, as prompts wait behind those of other sizes too.
    """

    costs: StepCosts
    input_tokens: int
    output_tokens: int
    neighbour_tokens: float
    neighbour_variation: float
    max_sequences: float


@dataclass(frozen=True, slots=True)
class Operation:
    """A replica at work: the rate, the sequences in flight at the percentile, the tested times."""

    requests_per_s: float
    sequences: float
    ttft_s: float
    tpot_s: float


def operation(
    demand: Demand, *, mean_sequences: float, limits: Limits, pessimism: Pessimism
) -> Operation:
    """Work out rate and times with `mean_sequences` decoding on average."""
    costs, outputs = demand.costs, demand.output_tokens
    step = steady_step_s(demand, mean_sequences)
    rate = mean_sequences / (outputs * step)
    first = first_token_s(
        demand, mean_sequences=mean_sequences, requests_per_s=rate, share=limits.ttft_share
    )
    crowd = sequences_at(
        mean=mean_sequences, share=limits.tpot_share, dispersion=constants.ARRIVAL_DISPERSION
    )
    prefilling = rate * own_prompt_s(costs, mean_sequences, demand.input_tokens)
    held = sequences_at(
        mean=mean_sequences + prefilling,
        share=limits.ttft_share,
        dispersion=constants.ARRIVAL_DISPERSION,
    )
    return Operation(
        requests_per_s=rate,
        sequences=held,
        ttft_s=first * pessimism.ttft_factor,
        tpot_s=step_among_s(demand, crowd) * pessimism.tpot_factor,
    )


def own_prompt_s(costs: StepCosts, sequences: float, input_tokens: int) -> float:
    """Time the steps that carry one prompt, in chunks of equal size, beside decoding sequences."""
    chunks = math.ceil(input_tokens / constants.CHUNK_TOKENS)
    step = step_s(costs, sequences=sequences, prompt_tokens=input_tokens / chunks)
    return chunks * step


def first_token_s(
    demand: Demand, *, mean_sequences: float, requests_per_s: float, share: float
) -> float:
    """Give the time to the first token in seconds that `share` of the requests do not exceed.

        share·step + own prompt + wait(ρ, R)

    Prompts queue for the token budget of the steps: a budget of C tokens beside N sequences takes
    step(N, C), so a token takes step(N, C)/C, and ρ = rate × input × that. The wait is that behind
    the service's own mix of prompts, or behind its own size if that is longer.
    """
    costs = demand.costs
    full = step_s(costs, sequences=mean_sequences, prompt_tokens=constants.CHUNK_TOKENS)
    token_s = full / constants.CHUNK_TOKENS
    dispersion = constants.ARRIVAL_DISPERSION
    own = residual_s(
        mean_s=demand.input_tokens * token_s, squared_variation=0.0, dispersion=dispersion
    )
    mixed = residual_s(
        mean_s=demand.neighbour_tokens * token_s,
        squared_variation=demand.neighbour_variation,
        dispersion=dispersion,
    )
    wait = wait_s(
        utilization=requests_per_s * demand.input_tokens * token_s,
        residual=max(own, mixed),
        share=share,
    )
    running = steady_step_s(demand, mean_sequences)
    return share * running + own_prompt_s(costs, mean_sequences, demand.input_tokens) + wait


def largest_operation(demand: Demand, *, limits: Limits, pessimism: Pessimism) -> Operation | None:
    """Find the largest rate that keeps every limit; None where not even one request does."""

    def at(mean_sequences: float) -> Operation:
        return operation(demand, mean_sequences=mean_sequences, limits=limits, pessimism=pessimism)

    best = at(_LEAST_SEQUENCES)
    if not keeps(best, demand=demand, limits=limits):
        return None
    low, high = _LEAST_SEQUENCES, float(constants.MAX_SEQUENCES)
    for _ in range(_BISECTIONS):
        middle = math.sqrt(low * high)
        tried = at(middle)
        if keeps(tried, demand=demand, limits=limits):
            low, best = middle, tried
        else:
            high = middle
    return best


def keeps(done: Operation, *, demand: Demand, limits: Limits) -> bool:
    """Say whether an operation is within memory and both limits; one-token answers have no TPOT."""
    in_time = done.ttft_s <= limits.ttft_s
    in_pace = demand.output_tokens == 1 or done.tpot_s <= limits.tpot_s
    return in_time and in_pace and done.sequences <= demand.max_sequences


def steady_step_s(demand: Demand, sequences: float) -> float:
    """Time a step in seconds when every sequence that ends is followed by a new prompt."""
    return mean_step_s(
        demand.costs,
        sequences=sequences,
        prompts_per_step=sequences / demand.output_tokens,
        input_tokens=demand.input_tokens,
    )


def step_among_s(demand: Demand, sequences: float) -> float:
    """Time a step in seconds as one of `sequences` meets it: only the others bring prompts."""
    return mean_step_s(
        demand.costs,
        sequences=sequences,
        prompts_per_step=(sequences - 1) / demand.output_tokens,
        input_tokens=demand.input_tokens,
    )
