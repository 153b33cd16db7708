"""Plans are kept once, go from state to state in one direction, and one is in force."""

import pytest
from book_plans import RENTED, RESERVED, book_plan, later, word

from broker.domain.errors import ConfigurationError
from broker.domain.plan import Plan, Status
from broker.purchases.deciding import Answer
from broker.purchases.identity import plan_hash
from broker.purchases.plan_book import PlanBook
from broker.purchases.records import PlanRecord
from broker.purchases.states import PlanState


def kept(book: PlanBook, plan: Plan, name: str = "team", hours: float = 0) -> str:
    return book.keep(plan, name, later(hours)).hash


def state(book: PlanBook, digest: str) -> PlanState:
    return recorded(book, digest).state


def recorded(book: PlanBook, digest: str) -> PlanRecord:
    found = book.record(digest)
    assert found is not None
    return found


def test_a_plan_has_the_same_hash_from_its_file() -> None:
    plan = book_plan()
    again = Plan.model_validate_json(plan.model_dump_json(by_alias=True, indent=2))
    assert plan_hash(again) == plan_hash(plan)
    assert plan_hash(book_plan(usd="10.000001")) != plan_hash(plan)


def test_a_plan_that_is_kept_twice_is_there_once_under_both_names(book: PlanBook) -> None:
    first = book.keep(book_plan(), "team", later(0))
    again = book.keep(book_plan(), "copy", later(1))
    assert (again.hash, again.kept_at) == (first.hash, later(0))
    assert [one.workloads for one in book.records()] == [("copy", "team")]
    assert len(book.audit()[0]) == 1


def test_a_draft_is_in_force_once_it_is_adopted_and_the_last_one_wins(book: PlanBook) -> None:
    one, two = book_plan("10"), book_plan("11")
    first, second = kept(book, one), kept(book, two)
    assert book.in_force("team") is None
    book.adopt(second, later(1))
    book.adopt(first, later(-5))  # the clock was set back; what was done last is last
    assert book.in_force("team") == one
    assert book.in_force("other") is None


def test_an_approved_plan_is_in_force_before_a_newer_draft(book: PlanBook) -> None:
    first = kept(book, book_plan("10"))
    assert book.approve(first, word())[0] is Answer.DONE
    newer = kept(book, book_plan("9"))
    book.adopt(newer, later(2))
    assert book.in_force("team") == book_plan("10")
    assert state(book, newer) is PlanState.DRAFT


def test_approving_a_plan_ends_the_plans_before_it_for_the_same_workloads(book: PlanBook) -> None:
    old, draft, new = (kept(book, book_plan(usd)) for usd in ("10", "11", "12"))
    later_draft, other = kept(book, book_plan("13")), kept(book, book_plan("14"), "other")
    book.approve(old, word())
    book.approve(other, word())
    book.approve(new, word(hours=1))
    states = [state(book, one) for one in (old, draft, new, later_draft, other)]
    assert states == ["superseded", "superseded", "approved", "draft", "approved"]
    with pytest.raises(ConfigurationError, match="is superseded and cannot be approved"):
        book.approve(draft, word("Bo"))


def test_two_persons_are_two_however_one_of_them_writes_the_name(book: PlanBook) -> None:
    digest = kept(book, book_plan(approvals=2))
    assert book.approve(digest, word("Ana Ruiz"))[0] is Answer.WAITS
    answer, record = book.approve(digest, word(" ana  RUIZ", hours=1))
    assert (answer, record.state, len(record.approvals)) == (Answer.WAITS, PlanState.DRAFT, 1)
    with pytest.raises(ConfigurationError, match="not approved: 1 of 2 persons"):
        book.execute(digest, RENTED, word())
    answer, record = book.approve(digest, word("Bo", hours=2, note="budget 7"))
    assert (answer, record.state) == (Answer.DONE, PlanState.APPROVED)
    assert [(one.actor, one.note) for one in record.approvals] == [
        ("Ana Ruiz", ""),
        ("Bo", "budget 7"),
    ]
    assert book.approve(digest, word("Bo", hours=3))[0] is Answer.AGAIN


def test_a_line_is_executed_once_and_the_second_time_tells_of_the_first(book: PlanBook) -> None:
    digest = kept(book, book_plan())
    book.approve(digest, word())
    answer, done, record = book.execute(digest, RENTED, word("Bo", 1), reference="i-123")
    assert (answer, done.reference, record.state) == (Answer.DONE, "i-123", PlanState.APPROVED)
    entries = len(book.audit()[0])
    again = book.execute(digest, RENTED, word("Ana", 2), reference="i-456")
    assert (again[0], again[1]) == (Answer.AGAIN, done)
    assert len(book.audit()[0]) == entries


def test_plans_of_which_a_line_was_bought_are_named_by_workloads_file(book: PlanBook) -> None:
    digest, other = kept(book, book_plan()), kept(book, book_plan("8"), "others")
    assert book.executed("team") == ()
    for one in (digest, other):
        book.approve(one, word())
        for line in (RENTED, RESERVED):
            book.execute(one, line, word())
    assert (book.executed("team"), book.executed("others")) == ((digest,), (other,))


def test_a_plan_is_executed_with_its_last_line_to_buy(book: PlanBook) -> None:
    before = kept(book, book_plan("9"))
    book.approve(before, word())
    for line in (RENTED, RESERVED):
        book.execute(before, line, word())
    assert state(book, before) is PlanState.EXECUTED
    digest = kept(book, book_plan("8"))
    book.approve(digest, word())
    assert state(book, before) is PlanState.EXECUTED
    book.execute(digest, RESERVED, word())
    assert book.in_force("team") == book_plan("8")
    book.execute(digest, RENTED, word())
    assert (state(book, digest), state(book, before)) == ("executed", "superseded")
    assert book.execute(before, RENTED, word())[0] is Answer.AGAIN


@pytest.mark.parametrize("line", ["acme/box/here@owned", "aws/p5/us-east-1", ""])
def test_what_the_plan_does_not_buy_cannot_be_executed(book: PlanBook, line: str) -> None:
    digest = kept(book, book_plan())
    book.approve(digest, word())
    with pytest.raises(ConfigurationError, match="no line") as error:
        book.execute(digest, line, word())
    assert RENTED in error.value.hint


def test_nobody_approves_nothing_and_no_plan_that_buys_nothing(book: PlanBook) -> None:
    digest = kept(book, book_plan())
    with pytest.raises(ConfigurationError, match="needs the name"):
        book.approve(digest, word("  "))
    empty = book_plan().model_copy(update={"status": Status.INFEASIBLE})
    with pytest.raises(ConfigurationError, match="buys nothing"):
        book.approve(kept(book, empty), word())
    with pytest.raises(ConfigurationError, match="no plan 'abc' is kept"):
        book.approve("abc", word())


def test_a_plan_is_found_by_the_start_of_its_hash(book: PlanBook) -> None:
    digest = kept(book, book_plan())
    assert book.plan(digest[:8]) == book_plan()
    for start in ("%", digest[:7] + "_"):
        with pytest.raises(ConfigurationError, match="no kept plans begin"):
            book.plan(start)
