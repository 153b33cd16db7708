"""The forms of an export: one line each."""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import cast

from broker.domain.plan import Plan
from broker.exports.extras import NO_EXTRAS, Extras
from broker.exports.files import ExportFile

_Export = Callable[[Plan], tuple[ExportFile, ...]]
_Report = Callable[[Plan, Extras], tuple[ExportFile, ...]]

_FORMS: Mapping[str, str] = MappingProxyType(
    {
        "skypilot": "broker.exports.skypilot:export",
        "dstack": "broker.exports.dstack:export",
        "terraform": "broker.exports.terraform:export",
        "kubernetes": "broker.exports.kubernetes:export",
        "focus": "broker.exports.focus:export",
        "focus-1.2": "broker.exports.focus:export_1_2",
        "markdown": "broker.exports.markdown:export",
        "csv": "broker.exports.spreadsheet:export",
    }
)
"""The module and function of each form, imported where it is asked for and not before."""

_REPORTS: Mapping[str, str] = MappingProxyType({"html": "broker.exports.html.page:export"})
"""The same of the forms that tell more than the plan holds, where somebody has it."""

FORMS = (*_FORMS, *_REPORTS)
"""The words that `--to` takes."""


def takes_extras(form: str) -> bool:
    """Tell whether a form has a use for what is known beside the plan."""
    return form in _REPORTS


def export(plan: Plan, form: str, extras: Extras = NO_EXTRAS) -> tuple[ExportFile, ...]:
    """Make the files of a form, which is one of FORMS."""
    if takes_extras(form):
        return cast("_Report", _imported(_REPORTS[form]))(plan, extras)
    return cast("_Export", _imported(_FORMS[form]))(plan)


def _imported(place: str) -> object:
    module, _, function = place.partition(":")
    found: object = getattr(import_module(module), function)
    return found
