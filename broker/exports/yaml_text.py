"""YAML as people write it: comments on top, keys in the order given, scripts as blocks.

Money is written as the number that it is, digit by digit.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal

import yaml

_COLUMNS = 100


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and decimals as numbers."""


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _decimal(dumper: _Dumper, number: Decimal) -> yaml.ScalarNode:
    digits = f"{number:f}"
    return dumper.represent_scalar(
        "tag:yaml.org,2002:float", digits if "." in digits else f"{digits}.0"
    )


_Dumper.add_representer(str, _text)
_Dumper.add_representer(Decimal, _decimal)


def yaml_text(comments: Iterable[str], *documents: Mapping[str, object]) -> str:
    """Write documents under a head of comments; a comment may have several lines."""
    lines = [line for comment in comments for line in comment.splitlines()]
    head = "".join(f"# {line}".rstrip() + "\n" for line in lines)
    body = yaml.dump_all(
        documents,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=_COLUMNS,
        explicit_start=len(documents) > 1,
    )
    return head + body
