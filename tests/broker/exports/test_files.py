import re

import pytest

from broker.exports.files import line_label


@pytest.mark.parametrize(
    "line_id",
    [
        "aws/p5.48xlarge/us-east-1@on_demand",
        "vast/m4435-1xRTX5090/California, US@spot",
        "aws/" + "x" * 200 + "@reserved-12m-no_upfront",
        "///",
    ],
)
def test_a_label_is_good_for_tags_names_and_labels_everywhere(line_id: str) -> None:
    label = line_label(line_id)
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", label)
    assert len(label) <= 55


def test_lines_that_look_alike_have_labels_of_their_own() -> None:
    assert line_label("aws/a.b/r@spot") != line_label("aws/a-b/r@spot")
    assert line_label("aws/a.b/r@spot") == line_label("aws/a.b/r@spot")
