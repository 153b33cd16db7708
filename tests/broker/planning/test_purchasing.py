"""The door to purchases: what a person is told who approves a plan."""

from datetime import timedelta

from book_plans import NOON, RENTED, RESERVED, book_plan, word

from broker.planning.purchasing import PurchasingService
from broker.planning.service import open_service
from broker.settings import Settings


def test_who_approves_a_plan_hears_of_commitments_that_an_earlier_one_bought(
    store_settings: Settings,
) -> None:
    now = NOON
    service = PurchasingService(open_service(store_settings, lambda: now))
    first, second = (service.book.keep(book_plan(usd), "team", NOON).hash for usd in ("10", "9"))
    assert service.approve(first, by="Ana").remarks == ()
    for line in (RENTED, RESERVED):
        service.book.execute(first, line, word())
    (told,) = service.approve(second, by="Ana").remarks
    assert told.startswith(f"{RESERVED} was bought for an earlier plan: do not buy that again")
    now = NOON + timedelta(days=366)  # its term is over; the prices are old by then
    (old,) = [one for one in service.approve(second, by="Ana").remarks if "its prices are" in one]
    assert old.endswith(" days ago")
    assert not [one for one in service.approve(second, by="Ana").remarks if RESERVED in one]
