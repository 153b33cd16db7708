"""The forms of an export: one line each."""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import cast

from broker.domain.plan import Plan
from broker.exports.files import ExportFile

_Export = Callable[[Plan], tuple[ExportFile, ...]]

_FORMS: Mapping[str, str] = MappingProxyType({})
"""The module and function of each form, imported where it is asked for and not before."""

FORMS = tuple(_FORMS)
"""The words that `--to` takes."""


def export(plan: Plan, form: str) -> tuple[ExportFile, ...]:
    """Make the files of a form, which is one of FORMS."""
    module, _, function = _FORMS[form].partition(":")
    return cast("_Export", getattr(import_module(module), function))(plan)
