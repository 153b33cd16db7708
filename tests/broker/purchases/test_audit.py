"""The audit log shows whoever changes it, or what it speaks of, behind its back."""

import pytest
from book_plans import RENTED, book_plan, later, word
from sqlalchemy import text

from broker.purchases.plan_book import PlanBook
from broker.store.database import open_database, writing
from broker.store.place import Place


@pytest.fixture
def digest(book: PlanBook) -> str:
    digest = book.keep(book_plan(approvals=2), "team", later(0)).hash
    book.approve(digest, word("Ana", 1, "cheaper by a third"))
    book.approve(digest, word("Bo", 2))
    book.execute(digest, RENTED, word("Ana", 3), reference="i-1")
    return digest


def test_the_log_says_who_did_what_when_to_which_content(book: PlanBook, digest: str) -> None:
    log, problems = book.audit()
    assert problems == ()
    said = [(one.number, one.at, one.deed.actor, one.deed.action) for one in log]
    assert said == [
        (1, later(0), "gpubroker", "kept"),
        (2, later(1), "Ana", "confirmed"),
        (3, later(2), "Bo", "confirmed"),
        (4, later(2), "Bo", "approved"),
        (5, later(3), "Ana", "executed_line"),
    ]
    assert {one.deed.plan_hash for one in log} == {digest}
    assert (log[1].deed.detail, log[4].deed.line) == ("cheaper by a third", RENTED)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("UPDATE audit_entry SET actor = 'Eve' WHERE number = 3", "entry 3 was changed"),
        ("DELETE FROM audit_entry WHERE number = 2", "entry 2 is missing"),
        ("DELETE FROM audit_entry WHERE number = 5", "executed lines of plan"),
        ("DELETE FROM audit_entry WHERE number >= 4", "is approved, and the log says draft"),
        ("DELETE FROM plan_approval WHERE actor = 'Bo'", "the approvals of plan"),
        ("DELETE FROM executed_line", "executed lines of plan"),
        ("UPDATE kept_plan SET state = 'executed'", "is executed, and the log says approved"),
        (
            "UPDATE kept_plan SET payload = replace(payload, '\"100.000000\"', '\"90.000000\"')",
            "no longer a plan",
        ),
        (
            "UPDATE kept_plan SET payload = replace(payload, '10ad', '10ae')",
            "does not say what it said",
        ),
        ("UPDATE audit_entry SET at = '2026-01-01 00:00:00'", "entry 1 was changed"),
    ],
)
@pytest.mark.usefixtures("digest")
def test_what_is_changed_behind_its_back_is_named(
    book: PlanBook, place: Place, change: str, problem: str
) -> None:
    with writing(open_database(place)) as connection:
        assert connection.execute(text(change)).rowcount
    assert problem in "\n".join(book.audit()[1])
