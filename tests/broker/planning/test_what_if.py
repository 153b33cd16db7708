from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from tiny_files import HEADER, ROWS, RUN, WORKLOADS, write_sheet

from broker.domain.errors import ConfigurationError
from broker.domain.load import LoadSeries
from broker.domain.offer import Offer
from broker.planning.catalog_view import CatalogSource
from broker.planning.service import open_service
from broker.planning.what_if import Inputs, changed, parse_change
from broker.planning.workloads_file import parse_workloads
from broker.settings import Settings

_TERMS = ("term_months", "payment", "upfront")
_RESERVED = (
    "aws,g6e.xlarge,L40S,1,eu-central-1,reserved,1.10,USD,2026-11-20,12,partial_upfront,4000"
)
ON_DEMAND = "aws/g6e.xlarge/eu-central-1@on_demand"
RESERVED = "aws/g6e.xlarge/eu-central-1@reserved-12m-partial_upfront"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """The tiny workloads with a run, over three offers: two of aws, one of gcp."""
    folder: Path = tmp_path_factory.mktemp("inputs")
    rows = (*(f"{row},,," for row in ROWS), _RESERVED)
    sheet = write_sheet(folder, *rows, header=",".join((HEADER, *_TERMS)))
    service = open_service(Settings(data_dir=folder))
    text = WORKLOADS + RUN + "policy: {providers: {deny: [lambda]}}\n"
    return Inputs(parse_workloads(text, "w"), service.view(CatalogSource(sheet=sheet)))


def after(inputs: Inputs, *texts: str) -> Inputs:
    return changed(inputs, [parse_change(text) for text in texts])


def priced(inputs: Inputs, *texts: str) -> dict[str, Offer]:
    return {offer.key: offer for offer in after(inputs, *texts).view.offers}


def refused(inputs: Inputs, text: str) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        after(inputs, text)
    return caught.value


def test_without_a_change_the_inputs_are_the_same(inputs: Inputs) -> None:
    assert changed(inputs, []) == inputs


@pytest.mark.parametrize("text", ["traffic=1.5", "traffic.chat=1.5", "traffic=1.5x"])
def test_traffic_scales_mean_and_peak_alike(text: str, inputs: Inputs) -> None:
    (service,) = after(inputs, text).workloads.services
    curve = service.traffic.requests_per_s
    assert (curve.mean, curve.peak) == (1.5, 3.0)


def test_traffic_scales_every_figure_of_a_series(inputs: Inputs) -> None:
    path = "services.chat.traffic.requests_per_s={by_size: [[1, 2], [0, 4]]}"
    (service,) = after(inputs, path, "traffic=1.5").workloads.services
    load = service.traffic.requests_per_s
    assert isinstance(load, LoadSeries)
    assert load.by_size == ((1.5, 3.0), (0.0, 6.0))


def test_a_deadline_is_that_of_one_run(inputs: Inputs) -> None:
    (run,) = after(inputs, "deadline.tune=2026-12-01T12:00Z").workloads.training
    assert run.window.deadline == datetime(2026, 12, 1, 12, tzinfo=UTC)
    assert run.window.earliest == datetime(2026, 12, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("texts", "deny"),
    [
        (["provider.gcp=off"], ("lambda", "gcp")),
        (["provider.AWS=off"], ("lambda", "aws")),
        (["provider.gcp=off", "provider.gcp=on"], ("lambda",)),
    ],
)
def test_a_provider_is_put_on_the_list_of_the_denied(
    texts: Sequence[str], deny: tuple[str, ...], inputs: Inputs
) -> None:
    assert after(inputs, *texts).workloads.policy.providers.deny == deny


def test_a_provider_that_is_on_is_allowed_beside_those_that_are(inputs: Inputs) -> None:
    texts = ("policy.providers.allow=[aws]", "provider.gcp=on")
    assert after(inputs, *texts).workloads.policy.providers.allow == ("aws", "gcp")


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("policy.price_trend_per_year=-0.4", "policy.price_trend_per_year", -0.4),
        ("services.chat.spot.max_share=0.5", "services.0.spot.max_share", 0.5),
        ("services[0].spot.max_share=0.5", "services.0.spot.max_share", 0.5),
        ("services.chat.users={eu-west: 1.0}", "services.0.users", {"eu-west": 1.0}),
        ("training.tune.hardware.gpus=[8, 16]", "training.0.hardware.gpus", (8, 16)),
        ("training.0.tokens=2e8", "training.0.tokens", 2e8),
        ("policy.budget_usd_per_month=900", "policy.budget_usd_per_month", Decimal(900)),
    ],
)
def test_any_path_of_the_file_can_be_changed(
    text: str, path: str, value: object, inputs: Inputs
) -> None:
    found: object = after(inputs, text).workloads
    for step in path.split("."):
        found = found[int(step)] if isinstance(found, tuple) else getattr(found, step)
    assert found == value


@pytest.mark.parametrize("what", ["L40S", "l40s", "aws", "aws/g6e.xlarge/eu-central-1"])
def test_a_factor_changes_the_hourly_and_the_upfront_price(what: str, inputs: Inputs) -> None:
    found = priced(inputs, f"price.{what}=0.9x")
    assert found[ON_DEMAND].usd_per_hour == Decimal("2.07")  # 2.30 × 0.9
    assert found[ON_DEMAND].quote.amount == Decimal("2.07")
    assert found[RESERVED].usd_per_hour == Decimal("0.99")  # 1.10 × 0.9
    commitment = found[RESERVED].commitment
    assert commitment is not None
    assert commitment.upfront_usd == 3600  # 4,000 × 0.9
    (gcp,) = [one for one in inputs.view.offers if one.provider == "gcp"]
    assert found[gcp.key] == gcp


def test_an_amount_is_the_hourly_price_of_one_offer(inputs: Inputs) -> None:
    found = priced(inputs, f"price.{RESERVED}=1.50")
    assert found[RESERVED].usd_per_hour == Decimal("1.50")
    assert found[RESERVED].commitment == priced(inputs)[RESERVED].commitment
    assert found[ON_DEMAND].usd_per_hour == Decimal("2.30")


def test_a_changed_price_is_marked_and_so_is_its_catalog(inputs: Inputs) -> None:
    view = after(inputs, f"price.{ON_DEMAND}=2").view
    (offer,) = [one for one in view.offers if one.key == ON_DEMAND]
    assert offer.warnings[-1] == f"not its price: what-if price.{ON_DEMAND}=2"
    assert "what-if" in offer.provenance.source
    assert view.snapshot != inputs.view.snapshot
    again = after(inputs, f"price.{ON_DEMAND}=2").view
    assert again.snapshot == view.snapshot


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("trafic=2", "unknown key 'trafic'", "traffic"),
        ("traffic=0", "'0' is no factor", "above 0"),
        ("traffic=much", "'much' is no factor", "above 0"),
        ("traffic.chatt=2", "unknown service 'chatt'", "chat"),
        ("deadline.tun=2026-12-02", "unknown run 'tun'", "tune"),
        ("deadline.tune=soon", "training[0].window.deadline: 'soon' is no date", "schema"),
        ("provider.gpc=off", "unknown provider 'gpc'", "gcp"),
        ("provider.gcp=away", "'away' is neither on nor off", "provider.gcp=off"),
        ("price.L40=0.9x", "unknown GPU, provider or offer 'L40'", "L40S"),
        ("price.L40S=2", "'2' is the price of one offer", "price.L40S=0.9x"),
        ("price.L40S=-2x", "'-2x' is no price", "0.9x"),
        ("price.L40S=NaNx", "'NaNx' is no price", "0.9x"),
        ("policy.price_trend=0", "unknown key of policy 'price_trend'", "price_trend_per_year"),
        ("services.chat.spt.max_share=1", "unknown key of services.chat 'spt'", "spot"),
        ("services.2.model=x", "unknown key of services '2'", "chat"),
        ("services.chat.model.name=x", "services.chat.model has no parts", "set it whole"),
        ("training.tune.data.at=aws/x", "training.tune.data is not given", "set it whole"),
        ("services.chat.spot.max_share=2", "services[0].spot.max_share: 2 is not right", "schema"),
        ("policy.providers.allow=[aws", "'[aws' is no value", "as in the workloads file"),
    ],
)
def test_what_cannot_be_changed_is_told_with_what_can(
    text: str, message: str, hint: str, inputs: Inputs
) -> None:
    error = refused(inputs, text)
    assert str(error).startswith(f"--what-if {text}: ")
    assert message in str(error)
    assert hint in error.hint


@pytest.mark.parametrize("text", ["traffic", "=2", "traffic=", " = "])
def test_a_change_has_a_key_and_a_value(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is no change"):
        parse_change(text)


_JOBS = """\
batch:
  - {name: embed, model: mistral-7b, tokens_per_day: 1.0e+9, by: "06:00", output_share: 0.1}
  - name: once
    model: mistral-7b
    tokens: 1.0e+9
    window: {earliest: 2026-12-01, deadline: 2026-12-02}
    output_share: 0
"""


def test_the_deadline_of_a_batch_job_is_a_time_of_day_or_the_end_of_its_window(
    inputs: Inputs,
) -> None:
    with_jobs = Inputs(parse_workloads(WORKLOADS + _JOBS, "w"), inputs.view)
    texts = ("deadline.embed=12:00", "deadline.once=2026-12-03", "batch.embed.output_share=0.5")
    embed, once = after(with_jobs, *texts).workloads.batch
    assert (embed.by, embed.output_share) == ("12:00 UTC", 0.5)
    assert once.window is not None
    assert once.window.deadline == datetime(2026, 12, 3, tzinfo=UTC)
    assert "embed" in (refused(with_jobs, "deadline.embad=12:00").hint or "")


@pytest.mark.parametrize(
    "text",
    [
        "policy.burst={}",
        "policy.robust={scenarios: [{name: more, probability: 0.2, load: {all: 2}}]}",
        "policy.churn.in_plan=true",
        "policy.commitments.max_new_usd_per_hour=5",
        "services.chat.min_up_time=6 h",
        "services.chat.mig=true",
    ],
)
def test_a_key_that_is_left_out_at_its_default_may_be_set(inputs: Inputs, text: str) -> None:
    assert after(inputs, text).workloads != inputs.workloads
    assert after(inputs).workloads == inputs.workloads


def test_parts_of_what_is_not_given_are_set_whole(inputs: Inputs) -> None:
    with pytest.raises(ConfigurationError, match=r"policy\.burst is not given") as raised:
        after(inputs, "policy.burst.max_groups=2")
    assert raised.value.hint == "set it whole: policy.burst=…"
