"""Plans to keep in the book, each with lines to buy and one that is owned."""

from datetime import UTC, datetime, timedelta

from export_plans import Parts, bought, machine, plan, served

from broker.domain.offer import PriceKind
from broker.domain.plan import Plan
from broker.purchases.deciding import Word

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def later(hours: float) -> datetime:
    """Give an instant so many hours after noon."""
    return NOON + timedelta(hours=hours)


def word(by: str = "Ana Ruiz", hours: float = 0, note: str = "") -> Word:
    """Say something as a person, so many hours after noon."""
    return Word(by, later(hours), note)


def book_plan(usd: str = "10", approvals: int = 1) -> Plan:
    """Buy one node by the hour and reserve one, beside one that is owned."""
    rented = machine("aws/p5/us-east-1", usd=usd)
    reserved = machine("gcp/a3/us-east4", usd="7", kind=PriceKind.RESERVED)
    owned = machine("acme/box/here", usd="1", kind=PriceKind.OWNED)
    offers = (rented, reserved, owned)
    return plan(
        offers,
        Parts(
            purchases=[bought(one, (0, 10, 1)) for one in offers],
            serving=[served(rented, (0, 10, 1, 1.5))],
            policy={"approvals": approvals},
        ),
    )


RENTED = "aws/p5/us-east-1@on_demand"
RESERVED = "gcp/a3/us-east4@reserved-12m-partial_upfront"
