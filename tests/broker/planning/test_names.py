from pathlib import Path

import pytest

from broker.domain.errors import ConfigurationError
from broker.domain.offer import Offer
from broker.planning.names import unmatched_names
from broker.planning.service import PlanningService, open_service
from broker.planning.workloads_file import parse_workloads
from broker.settings import Settings

WORKLOADS = """
schema: gpubroker.workloads/1
horizon: {start: 2026-12-01, days: 1}
training:
  - name: tune
    model: mistral-7b
    tokens: 1.0e+8
    window: {earliest: 2026-12-01, deadline: 2026-12-02}
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> PlanningService:
    folder: Path = tmp_path_factory.mktemp("data")
    return open_service(Settings(data_dir=folder))


@pytest.fixture(scope="module")
def offers(service: PlanningService) -> tuple[Offer, ...]:
    return service.offers_from_recordings().all_offers


@pytest.mark.parametrize(
    "more",
    [
        "policy: {providers: {deny: [vast, 'runpod:community', LAMBDA]}}",
        "policy: {providers: {allow: [gcp]}}",  # known, though it has no recordings
        "policy: {regions: {allow: [us, eu, de, us-east-1], deny: [government, aws/us-east-2]}}",
        "quotas: [{provider: aws, region: us-east-1, gpu: h100-sxm, gpus: 8}]",
    ],
)
def test_names_that_mean_something_are_silent(
    more: str, service: PlanningService, offers: tuple[Offer, ...]
) -> None:
    assert unmatched_names(parse_workloads(WORKLOADS + more, "w"), offers, service.specs) == ()


@pytest.mark.parametrize(
    ("more", "warning"),
    [
        (
            "policy: {providers: {deny: [acme]}}",
            "policy.providers.deny: no provider is called 'acme' in this catalog",
        ),
        (
            "policy: {regions: {deny: [the-moon]}}",
            "policy.regions.deny: no place is called 'the-moon' in this catalog",
        ),
        (
            "policy: {surcharges: [{rate: 0.1, regions: [us, the-moon]}]}",
            "policy.surcharges[0].regions: no place is called 'the-moon' in this catalog",
        ),
        (
            "quotas: [{provider: aws, region: us-east-9, gpus: 8}]",
            "quotas[0]: it limits no offer of this catalog",
        ),
    ],
)
def test_a_rule_on_nothing_is_a_warning(
    more: str, warning: str, service: PlanningService, offers: tuple[Offer, ...]
) -> None:
    workloads = parse_workloads(WORKLOADS + more, "w")
    (told,) = unmatched_names(workloads, offers, service.specs)
    assert told.startswith(warning)


@pytest.mark.parametrize(
    ("more", "told", "hint"),
    [
        ("policy: {providers: {deny: [vasst]}}", "'vasst'", "'vast'"),
        ("policy: {providers: {deny: [vast.ai]}}", "'vast.ai'", "'vast'"),
        ("policy: {providers: {allow: ['runpod:comunity']}}", "'runpod:comunity'", ":community'"),
        ("quotas: [{provider: azur, gpus: 8}]", "quotas[0].provider", "'azure'"),
        (
            "policy: {surcharges: [{rate: 0.1, providers: [azur]}]}",
            "policy.surcharges[0].providers",
            "'azure'",
        ),
        ("policy: {regions: {deny: [europe-wst3]}}", "'europe-wst3'", "europe-west3"),
        ("    data: {at: aws/us-est-1, size: 1 TB}", "training[0].data.at", "aws/us-east-1"),
        ("policy: {regions: {deny: [germany]}}", "'germany' is no code", "write 'de'"),
    ],
)
def test_a_slip_of_the_pen_is_an_error(
    *, more: str, told: str, hint: str, service: PlanningService, offers: tuple[Offer, ...]
) -> None:
    workloads = parse_workloads(WORKLOADS + more, "w")
    with pytest.raises(ConfigurationError) as caught:
        unmatched_names(workloads, offers, service.specs)
    assert told in str(caught.value)
    assert hint in caught.value.hint


def test_a_provider_of_a_private_sheet_is_known_by_its_offers(
    service: PlanningService, offers: tuple[Offer, ...]
) -> None:
    private = offers[0].model_copy(update={"provider": "vasst"})
    workloads = parse_workloads(WORKLOADS + "policy: {providers: {deny: [vasst]}}", "w")
    assert unmatched_names(workloads, [private], service.specs) == ()
