"""The forms of an export: one line each."""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import cast

from broker.domain.plan import Plan
from broker.exports.extras import NO_EXTRAS, Extras
from broker.exports.files import NOTHING_EXECUTED, Executed, ExportFile

_Export = Callable[[Plan], tuple[ExportFile, ...]]
_Launch = Callable[[Plan, Executed], tuple[ExportFile, ...]]
_Report = Callable[[Plan, Extras], tuple[ExportFile, ...]]

_LAUNCHES: Mapping[str, str] = MappingProxyType(
    {
        "skypilot": "broker.exports.skypilot:export",
        "dstack": "broker.exports.dstack:export",
        "terraform": "broker.exports.terraform:export",
        "kubernetes": "broker.exports.kubernetes:export",
    }
)
"""The module and function of each form that buys or launches what a plan says."""

_FORMS: Mapping[str, str] = MappingProxyType(
    {
        "focus": "broker.exports.focus:export",
        "focus-1.2": "broker.exports.focus:export_1_2",
        "csv": "broker.exports.spreadsheet:export",
    }
)
"""The same of the forms that tell of the plan; each is imported where it is asked for."""

_REPORTS: Mapping[str, str] = MappingProxyType(
    {
        "html": "broker.exports.html.page:export",
        "markdown": "broker.exports.markdown:export",
    }
)
"""The same of the forms that tell more than the plan holds, where somebody has it."""

FORMS = (*_LAUNCHES, *_FORMS, *_REPORTS)
"""The words that `--to` takes."""


def takes_extras(form: str) -> bool:
    """Tell whether a form has a use for what is known beside the plan."""
    return form in _REPORTS


def is_launchable(form: str) -> bool:
    """Tell whether a form buys or launches, so that lines executed already must not be in it."""
    return form in _LAUNCHES


def export(
    plan: Plan,
    form: str,
    extras: Extras = NO_EXTRAS,
    executed: Executed = NOTHING_EXECUTED,
) -> tuple[ExportFile, ...]:
    """Make the files of a form, which is one of FORMS."""
    if is_launchable(form):
        return cast("_Launch", _imported(_LAUNCHES[form]))(plan, executed)
    if takes_extras(form):
        return cast("_Report", _imported(_REPORTS[form]))(plan, extras)
    return cast("_Export", _imported(_FORMS[form]))(plan)


def _imported(place: str) -> object:
    module, _, function = place.partition(":")
    found: object = getattr(import_module(module), function)
    return found
