"""One replica under a benchmark's load: throughput and times at a concurrency, a rate, or flat out.

The same steps as those that candidates are sized with, so that what is validated is what is planned
with. Times are means, as benchmarks print them.
"""

import math
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Final

import numpy as np

from solver.sizing import serving_constants as fixed
from solver.sizing.roofline import StepCosts, costs_of, felt_step, mean_step, stage_s, step
from solver.sizing.serving_constants import FITTED, ServingConstants
from solver.sizing.serving_facts import Number, Replica, StepFacts, step_facts

GIB: Final = 2.0**30
_FULL = 0.95
"""Load of prompts beyond which the queue of a closed loop is cut off: its clients bound it."""
_BISECTIONS = 40


class Regime(StrEnum):
    """How a benchmark loads the engine."""

    CLOSED = "closed"
    """So many clients, each asking again as soon as it is answered."""
    OFFLINE = "offline"
    """All requests at once: as many in flight as fit."""
    STATIC = "static"
    """A batch that is prefilled, then decoded, then replaced."""


@dataclass(frozen=True, slots=True)
class Load:
    """The load of one measurement; `clients` is over all `replicas`, 0 when offline."""

    clients: Number
    replicas: Number
    is_static: Number
    is_offline: Number


@dataclass(frozen=True, slots=True)
class Figures:
    """What a benchmark would print: seconds, and output tokens per second over all replicas.

    `sequences` are in flight on one replica; `waits` is 1 where memory admits fewer than ask.
    """

    tokens_per_s: Number
    tpot_s: Number
    ttft_s: Number
    sequences: Number
    waits: Number


@dataclass(frozen=True, slots=True)
class Estimate:
    """`Figures` of one configuration, as plain numbers."""

    tokens_per_s: float
    tpot_s: float
    ttft_s: float
    sequences: float
    waits: bool


def serving_estimate(
    replica: Replica,
    *,
    input_tokens: float,
    output_tokens: float,
    clients: float | None = None,
    regime: Regime = Regime.CLOSED,
    replicas: float = 1.0,
    constants: ServingConstants = FITTED,
) -> Estimate:
    """Estimate throughput and mean times of a replica, or of several alike, under a load.

    Args:
        replica: hardware, network, precision, split, link, engine.
        input_tokens: mean length of a prompt.
        output_tokens: mean length of an answer.
        clients: requests in flight over all replicas; None is as many as fit (`OFFLINE`).
        regime: how the clients ask.
        replicas: how many share the load evenly.
        constants: another set, for a fit.
    """
    facts = step_facts(replica, input_tokens=input_tokens, output_tokens=output_tokens)
    load = load_of(clients=clients, regime=regime, replicas=replicas * replica.split.attention_data)
    found = figures(facts, load, constants)
    return Estimate(
        tokens_per_s=float(found.tokens_per_s),
        tpot_s=float(found.tpot_s),
        ttft_s=float(found.ttft_s),
        sequences=float(found.sequences),
        waits=bool(found.waits),
    )


def at_rate(
    replica: Replica,
    *,
    input_tokens: float,
    output_tokens: float,
    requests_per_s: float,
    constants: ServingConstants = FITTED,
) -> Estimate | None:
    """Estimate the means of a replica that takes `requests_per_s` of open arrivals; None if it
    cannot keep up.

    The number in flight follows from Little's law; clients outside of a closed loop add nothing to
    the time to the first token.
    """  # noqa: D205 - one sentence
    facts = step_facts(replica, input_tokens=input_tokens, output_tokens=output_tokens)
    costs = costs_of(facts, constants)
    low, high = 1e-4, float(held_sequences(facts))
    for _ in range(_BISECTIONS):
        middle = math.sqrt(low * high)
        mean = _steady(costs, facts, middle)
        if middle / (output_tokens * float(mean)) < requests_per_s:
            low = middle
        else:
            high = middle
    mean = float(_steady(costs, facts, high))
    if high / (output_tokens * mean) < requests_per_s * (1 - 1e-6):
        return None
    own = float(step(costs, sequences=high, prompt_tokens=facts.new_tokens, carries=1.0))
    load = min(requests_per_s * own, _FULL)
    felt = _felt(costs, facts, high)
    waits = 0.5 * load / (1 - load) * own
    return Estimate(requests_per_s * output_tokens, float(felt), own + waits, high, waits=False)


def load_of(*, clients: float | None, regime: Regime, replicas: float) -> Load:
    """Describe a load; `replicas` counts ranks of attention data parallelism, too."""
    is_offline = regime is Regime.OFFLINE or clients is None
    return Load(
        clients=0.0 if clients is None else float(clients),
        replicas=float(replicas),
        is_static=float(regime is Regime.STATIC),
        is_offline=float(is_offline),
    )


def stacked_loads(rows: list[Load]) -> Load:
    """Join many loads into one value of arrays."""
    return Load(
        **{one.name: np.array([getattr(row, one.name) for row in rows]) for one in fields(Load)}
    )


def held_sequences(facts: StepFacts) -> Number:
    """Count the sequences that memory and engine hold at once, at the mean length; at least 1."""
    share = np.asarray(fixed.BENCHMARK_MEMORY_SHARE)[facts.engine]
    reserve = np.asarray(fixed.BENCHMARK_RESERVE_GIB)[facts.engine] * GIB
    room = share * facts.memory_bytes - facts.expert_bytes - facts.other_bytes - reserve
    limit = np.asarray(fixed.BENCHMARK_MAX_SEQUENCES)[facts.engine]
    return np.asarray(np.clip(room / facts.kv_bytes, 1.0, limit))


def figures(facts: StepFacts, load: Load, constants: ServingConstants = FITTED) -> Figures:
    """Work out what a benchmark would print; of arrays, all at once."""
    costs = costs_of(facts, constants)
    asking = np.where(load.is_offline, np.inf, np.maximum(load.clients / load.replicas, 1.0))
    held = held_sequences(facts)
    sequences = np.minimum(asking, held)
    mean = _steady(costs, facts, sequences)
    alone = step(costs, sequences=sequences, prompt_tokens=0.0, carries=0.0)
    batch = _batch_prompt(costs, facts, sequences)
    answers = batch + np.maximum(facts.output_tokens - 1, 0.0) * alone
    by_batch = sequences * facts.output_tokens / answers
    first = _first_token(costs, facts, load, constants, sequences=sequences, mean=mean)
    waiting = np.where(load.is_offline, 0.0, np.maximum(asking - sequences, 0.0) / sequences)
    first = first + waiting * facts.output_tokens * mean
    return Figures(
        tokens_per_s=np.where(load.is_static, by_batch, sequences / mean) * load.replicas,
        tpot_s=np.where(load.is_static, alone, _felt(costs, facts, sequences)),
        ttft_s=np.where(load.is_static, batch, first),
        sequences=sequences,
        waits=(asking > sequences) & (load.is_offline == 0),
    )


def _first_token(
    costs: StepCosts,
    facts: StepFacts,
    load: Load,
    constants: ServingConstants,
    *,
    sequences: Number,
    mean: Number,
) -> Number:
    """Time the first token of a closed loop: client, own prompt, half a step, prompts ahead.

    Ahead are those of clients that ask at the same time (a share of all), those that fill the same
    token budget, and a queue that grows with the share of the time that prompts take.
    """
    engine = facts.engine
    outside = np.asarray(constants.client_s)[engine]
    outside = outside * np.where(load.clients == 1, fixed.SINGLE_CLIENT_SHARE, 1.0)
    own = step(costs, sequences=0.0, prompt_tokens=facts.new_tokens, carries=1.0)
    alone = step(costs, sequences=sequences, prompt_tokens=0.0, carries=0.0)
    work = np.maximum(own - 0.9 * costs.host_s * costs.pipeline, 1e-5)
    busy = np.minimum(sequences * work / (facts.output_tokens * mean), _FULL)
    fellows = np.minimum(sequences, np.maximum(fixed.CHUNK_TOKENS / facts.new_tokens, 1.0)) - 1
    ahead = np.asarray(constants.queue_share)[engine] * (sequences - 1)
    ahead = ahead + np.asarray(constants.pairing_share)[engine] * fellows
    ahead = ahead + constants.queue_load_factor * busy / (1 - busy)
    return np.asarray(outside + own + alone / 2 + work * ahead)


def _batch_prompt(costs: StepCosts, facts: StepFacts, sequences: Number) -> Number:
    """Time the prefill of a whole batch; stages work on parts of it in turn."""
    tokens = facts.new_tokens * sequences
    whole = stage_s(costs, sequences=0.0, prompt_tokens=tokens, carries=1.0)
    return whole * (costs.pipeline + 1) / 2


def _steady(costs: StepCosts, facts: StepFacts, sequences: Number) -> Number:
    return mean_step(
        costs,
        sequences=sequences,
        prompts_per_step=sequences / facts.output_tokens,
        new_tokens=facts.new_tokens,
    )


def _felt(costs: StepCosts, facts: StepFacts, sequences: Number) -> Number:
    return felt_step(
        costs,
        sequences=sequences,
        prompts_per_step=np.maximum(sequences - 1, 0.0) / facts.output_tokens,
        new_tokens=facts.new_tokens,
    )
