"""Instances as cases: prices, rates, windows and loads of the one are those of the other."""

import numpy as np
import pytest
from program_bench.case import case_of
from program_bench.generate import generate
from program_bench.instance import Instance, job_rates
from program_bench.market import usd
from program_bench.serving import undominated
from program_bench.wishes import Wishes

from broker.domain.candidate import ServingCandidate, TrainingCandidate
from broker.domain.case import Case
from broker.domain.offer import Offer, Payment, PriceKind
from broker.domain.traffic import loads_by_size


@pytest.fixture(scope="module")
def inst() -> Instance:
    return generate("small", 5, Wishes(data_sets=True))


@pytest.fixture(scope="module")
def case(inst: Instance) -> Case:
    return case_of(inst)


def row_of(machine: str) -> int:
    return int(machine.split("/")[1].rpartition("-")[2])


def test_what_is_made_without_checks_passes_them(case: Case) -> None:
    for offer in case.offers:
        assert Offer.model_validate_json(offer.model_dump_json()) == offer
    for option in case.serving:
        candidate = option.candidate
        assert ServingCandidate.model_validate(candidate.model_dump()) == candidate
    for done in case.training:
        assert TrainingCandidate.model_validate(done.candidate.model_dump()) == done.candidate
    assert len({offer.key for offer in case.offers}) == len(case.offers)


def test_an_offer_has_the_prices_of_its_row(inst: Instance, case: Case) -> None:
    kinds = {(row_of(one.machine), one.price_kind): one for one in case.offers}
    for row in range(inst.offer_count):
        firm = kinds[row, PriceKind.ON_DEMAND]
        assert firm.usd_per_hour == usd(inst.od[row])
        assert firm.hardware.shape.gpu_count == inst.gpus[row]
        assert firm.stock == (firm.machine, inst.quota[row] * inst.gpus[row])
        assert ((row, PriceKind.SPOT) in kinds) == bool(np.isfinite(inst.sp[row]))


def test_a_spot_price_is_the_mean_over_the_horizon_with_what_interruptions_cost(
    inst: Instance, case: Case
) -> None:
    spot = next(one for one in case.offers if one.price_kind is PriceKind.SPOT)
    row = row_of(spot.machine)
    hourly = [inst.sp[row] * factor for factor in inst.spot_profile[inst.spot_group[row]]]
    expected = sum(hourly) / 168 * (1 + 0.5 * inst.irate[row])
    assert float(spot.usd_per_hour) == pytest.approx(expected, abs=1e-6)


def test_commitments_are_those_of_a_month_or_longer(inst: Instance, case: Case) -> None:
    found = [one for one in case.offers if one.commitment]
    assert 0 < len(found) == int((inst.plan_term >= 730).sum()) < len(inst.plan_term)
    terms = {one.commitment.term_months for one in found if one.commitment}
    assert terms == {1, 12, 36}
    rows = {
        (row_of(one.machine), one.commitment.term_months): one for one in found if one.commitment
    }
    for number, term_h in enumerate(inst.plan_term.tolist()):
        if term_h >= 730:
            offer = rows[int(inst.plan_offer[number]), term_h // 730]
            upfront, hourly = inst.plan_upfront[number], inst.plan_hourly[number]
            assert offer.commitment is not None
            assert offer.commitment.upfront_usd == usd(upfront)
            assert offer.usd_per_hour == usd(hourly)
            paid = Payment.ALL_UPFRONT if hourly == 0 else Payment.PARTIAL_UPFRONT
            assert offer.commitment.payment is (paid if upfront else Payment.NO_UPFRONT)


def test_a_service_asks_for_the_load_of_each_hour(inst: Instance, case: Case) -> None:
    for service, written in zip(inst.services, case.workloads.services, strict=True):
        asked = loads_by_size(written, case.workloads.horizon)
        assert np.array_equal(np.array(asked), service.load)
        assert written.availability.spare_replicas == service.spare


def test_a_configuration_goes_only_for_one_that_is_nowhere_worse(inst: Instance) -> None:
    for service in inst.services:
        for sku in np.unique(service.cfg_sku).tolist():
            kept = undominated(service, sku)
            mine = np.flatnonzero(service.cfg_sku == sku).tolist()
            for one in mine:
                better = [
                    other
                    for other in kept
                    if other != one
                    and service.cfg_tp[other] <= service.cfg_tp[one]
                    and (service.mu[other] >= service.mu[one]).all()
                ]
                assert bool(better) == (one not in kept)


def test_replicas_are_near_enough_fit_a_node_and_take_spot_only_where_allowed(
    inst: Instance, case: Case
) -> None:
    by_name = {one.name.lower(): one for one in inst.services}
    for option in case.serving:
        service, row = by_name[option.service], row_of(option.machine)
        assert option.candidate.rtt_s * 1000 <= service.max_rtt
        assert option.candidate.layout.gpus <= inst.gpus[row]
        assert not option.on_spot or (service.spot_share > 0 and np.isfinite(inst.sp[row]))
    assert {one.service for one in case.serving} == set(by_name)


def test_a_run_takes_as_long_as_its_job_and_pays_to_leave_home(inst: Instance, case: Case) -> None:
    jobs = {one.name: one for one in inst.jobs}
    runs = {one.name: one for one in case.workloads.training}
    assert {one.run for one in case.training} == set(jobs)
    for option in case.training:
        job, row = jobs[option.run], row_of(option.machine)
        nodes = option.candidate.nodes
        hours = runs[job.name].tokens / option.candidate.tokens_per_s / 3600
        assert hours == pytest.approx(job.work / job_rates(inst, job, nodes)[row])
        is_home = inst.continent[row] == job.home
        away_usd = (job.ckpt_tb + job.data_tb) * job.egress_per_tb
        assert float(option.egress_usd) == pytest.approx(0 if is_home else away_usd)
        assert not option.candidate.on_spot or (job.preemptible and job.spot_ok)
        assert nodes <= inst.quota[row] + inst.owned[row]


def test_hours_that_are_no_whole_days_are_refused() -> None:
    with pytest.raises(ValueError, match="6 hours are no whole days"):
        case_of(generate("tiny", 1))


def test_weeks_are_sold_as_capacity_blocks_where_it_is_wished(inst: Instance, case: Case) -> None:
    assert not any(one.block for one in case.offers)
    sold = [one for one in case_of(inst, Wishes(blocks=True)).offers if one.block]
    assert len(sold) == int((inst.plan_term == 168).sum()) > 0
    hourly = {
        int(inst.plan_offer[number]): usd(inst.plan_hourly[number])
        for number in np.flatnonzero(inst.plan_term == 168).tolist()
    }
    for offer in sold:
        assert Offer.model_validate_json(offer.model_dump_json()) == offer
        assert offer.block is not None
        assert (offer.block.starts_at, offer.block.lengths_h) == (None, (168,))
        assert offer.usd_per_hour == hourly[row_of(offer.machine)]


def test_services_are_spread_over_providers_where_it_is_wished(inst: Instance, case: Case) -> None:
    def shares(of: Case) -> list[float]:
        return [one.availability.max_provider_share for one in of.workloads.services]

    assert set(shares(case)) == {1.0}
    wished = shares(case_of(inst, Wishes(provider_shares=True)))
    assert wished == [one.provider_share for one in inst.services]
    assert min(wished) < 1
