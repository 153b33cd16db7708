"""What launches or buys leaves out the lines that were executed already, and says so."""

import pytest
from book_plans import RENTED, RESERVED, book_plan

from broker.exports.files import Executed, line_label
from broker.exports.forms import export, is_launchable

DONE: Executed = {RENTED: "it was executed already by Ana on 2026-12-01 09:00 UTC"}


def text_of(form: str, executed: Executed) -> str:
    return "\n".join(one.text for one in export(book_plan(), form, executed=executed))


@pytest.mark.parametrize(
    ("form", "mark"),
    [
        ("skypilot", "sky serve up"),
        ("dstack", "dstack apply"),
        ("terraform", f'"{line_label(RENTED)}"'),
        ("kubernetes", "kind: Deployment"),
    ],
)
def test_a_line_that_was_executed_is_not_launched_again(form: str, mark: str) -> None:
    assert is_launchable(form)
    assert mark in text_of(form, {})
    assert mark not in text_of(form, DONE)


@pytest.mark.parametrize("form", ["skypilot", "dstack", "terraform"])
def test_the_files_say_what_was_left_out_and_why(form: str) -> None:
    assert "executed already by Ana" in text_of(form, DONE)
    assert "executed already" not in text_of(form, {})


def test_terraform_warns_of_what_its_state_would_destroy() -> None:
    text = text_of("terraform", DONE)
    assert "Apply this in a folder of its own" in text
    assert line_label(RESERVED) in text


@pytest.mark.parametrize("form", ["focus", "csv", "markdown"])
def test_what_only_tells_of_the_plan_tells_all_of_it(form: str) -> None:
    assert not is_launchable(form)
    assert text_of(form, DONE) == text_of(form, {})
