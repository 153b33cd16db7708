"""Every model that may answer a service is sized, and each candidate says which it is."""

import pytest
from provider_runs import NOW
from sizing_cases import service_of, shape_of
from tiny_cases import service_entry, workloads

from broker.domain.errors import ConfigurationError
from broker.planning.case import build_case
from broker.planning.freshness import NEVER, Freshness
from broker.planning.sized import Sizer
from broker.planning.workloads_file import check_names
from broker.specs.load import Specs, load_specs


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def test_alternatives_are_candidates_beside_the_wished_model(specs: Specs) -> None:
    service = service_of(model="llama-3.1-70b")
    shape = shape_of(specs.gpu("H100-SXM"), 4)
    alone, _ = Sizer(specs, 0.15).serving(service, shape, rtt_s=0.0)
    both = service.model_copy(update={"alternatives": ("llama-3.1-8b",)})
    found, _ = Sizer(specs, 0.15).serving(both, shape, rtt_s=0.0)
    assert {one.model for one in alone} == {"llama-3.1-70b"}
    assert [one for one in found if one.model == "llama-3.1-70b"] == alone
    smaller = [one for one in found if one.model == "llama-3.1-8b"]
    assert smaller
    assert all(one.id.startswith("chat/llama-3.1-8b/") for one in smaller)
    assert len({one.id for one in found}) == len(found)


def test_a_model_twice_is_one(specs: Specs) -> None:
    service = service_of(model="llama-3.1-70b")
    again = service.model_copy(update={"alternatives": ("llama-3.1-70b",)})
    shape = shape_of(specs.gpu("H100-SXM"), 4)
    sizer = Sizer(specs, 0.15)
    assert sizer.serving(again, shape, rtt_s=0.0) == sizer.serving(service, shape, rtt_s=0.0)


def test_an_alternative_nobody_knows_is_refused_by_name(specs: Specs) -> None:
    entry = service_entry(1, 1) | {"alternatives": ["llama-3.1-9b"]}
    demand = workloads(services=[entry])
    with pytest.raises(ConfigurationError, match=r"services\[0\]\.alternatives: unknown model"):
        check_names(demand, specs)
    with pytest.raises(ConfigurationError, match="unknown model"):
        build_case(demand, [], specs, Freshness(NOW, NEVER, NEVER))
