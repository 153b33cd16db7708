"""What is invented is planned with only where a policy asks for it by name."""

from datetime import timedelta

import pytest
from tiny_cases import START, offer

from broker.domain.offer import Evidence, Offer, PriceKind
from broker.domain.policy import Policy
from broker.planning.filters import EXAMPLE, Freshness, why_not

FRESH = Freshness(
    as_of=START + timedelta(days=99), spot=timedelta(days=1), other=timedelta(days=14)
)


def contract(evidence: Evidence) -> Offer:
    found = offer("2", kind=PriceKind.CONTRACT, term_months=12)
    seen = found.provenance.model_copy(update={"evidence": evidence})
    return found.model_copy(update={"provenance": seen})


def policy(**providers: list[str]) -> Policy:
    rules = {"providers": providers, "commitments": {"max_term_months": 12}}
    return Policy.model_validate(rules, strict=False)


@pytest.mark.parametrize("providers", [{}, {"allow": ["other"]}, {"deny": ["other"]}])
def test_a_policy_that_does_not_name_an_example_does_not_ask_for_it(
    providers: dict[str, list[str]],
) -> None:
    assert why_not(contract(Evidence.EXAMPLE), policy(**providers), FRESH) == EXAMPLE


def test_a_policy_may_ask_for_an_example_by_its_name() -> None:
    assert why_not(contract(Evidence.EXAMPLE), policy(allow=["Acme", "other"]), FRESH) is None


def test_a_contract_of_ones_own_needs_no_name() -> None:
    assert why_not(contract(Evidence.SHEET), policy(), FRESH) is None
