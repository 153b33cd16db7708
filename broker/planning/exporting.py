"""Exports of a plan file, with what the catalog can tell beside it."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from broker.catalog.price_history import PriceHistory
from broker.catalog.store import Catalog, open_catalog
from broker.domain.errors import ConfigurationError
from broker.domain.explanation import Explanation
from broker.domain.plan import Plan
from broker.exports.explained import told
from broker.exports.extras import Extras, PricePath, PriceStep
from broker.exports.files import NOTHING_EXECUTED, Executed, ExportFile
from broker.exports.forms import FORMS, export, is_launchable, takes_extras
from broker.exports.reasons import paid_offers
from broker.planning.whole_plan import read_whole_plan
from broker.purchases.identity import plan_hash
from broker.purchases.plan_book import PlanBook
from broker.settings import Settings
from broker.store.database import open_store
from broker.store.place import has_store, store_place

_SHOWN_LINES = 4
_WRITE_IT = "write it with `gpubroker explain PLAN --format json`"


def check_explainable(form: str) -> None:
    """Find out before the work whether a form has a place for an explanation.

    Raises:
        ConfigurationError: it has none.
    """
    if not takes_extras(form):
        raise ConfigurationError(
            f"--to {form} has no place for an explanation",
            hint="give it with --to html or --to markdown",
        )


def export_plan(
    given: Path, form: str, settings: Settings, explanation: Path | Explanation | None = None
) -> tuple[ExportFile, ...]:
    """Make the files of a form from a plan, and from what `explain` found out about it.

    The plan is a file or the hash of a kept one; an explanation is given as it is, or as the JSON
    file that it was written to.

    Raises:
        ConfigurationError: a file cannot be used or is of another plan, the form has no place for
            an explanation or takes none of the lines, or the catalog's database cannot be read.
    """
    plan = read_whole_plan(given, settings)
    if not takes_extras(form):
        if explanation is not None:
            check_explainable(form)
        executed = executed_lines(plan, form, settings)
        return export(plan, form, executed=executed) or _refuse(plan, form, executed)
    prices: tuple[PricePath, ...] = ()
    if has_store(settings):  # looking for what is known makes no database
        prices = tuple(price_paths(plan, open_catalog(store_place(settings))))
    said = () if explanation is None else told(_explanation(explanation, plan))
    return export(plan, form, Extras(prices=prices, told=said))


def _refuse(plan: Plan, form: str, executed: Executed) -> tuple[ExportFile, ...]:
    """Say which lines a form cannot take, and which forms can.

    Raises:
        ConfigurationError: always.
    """
    left = [one for one in plan.purchases if one.id not in executed]
    if not left:
        raise ConfigurationError(
            f"--to {form} has nothing to write: the plan has no line that was not executed already",
            hint="`gpubroker export PLAN --to html` shows the whole plan",
        )
    able = [one for one in FORMS if one != form and export(plan, one, executed=executed)]
    told = ", ".join(one.id for one in left[:_SHOWN_LINES])
    more = f" and {len(left) - _SHOWN_LINES} more" if len(left) > _SHOWN_LINES else ""
    raise ConfigurationError(
        f"--to {form} has no way to buy or launch any line of the plan: {told}{more}",
        hint=f"these forms take them: {', '.join(able)}",
    )


def executed_lines(plan: Plan, form: str, settings: Settings) -> Executed:
    """Name the lines of a plan that a form must leave out, as somebody executed them already.

    Raises:
        ConfigurationError: the database, which knows them, cannot be read.
    """
    if not is_launchable(form) or not has_store(settings):
        return NOTHING_EXECUTED
    record = PlanBook(open_store(settings)).record(plan_hash(plan))
    return {
        one.line: f"it was executed already by {one.actor} on {one.at:%Y-%m-%d %H:%M} UTC"
        for one in (record.executed if record else ())
    }


def _explanation(given: Path | Explanation, plan: Plan) -> Explanation:
    """Read an explanation where it is a file, and hold it to the plan.

    Raises:
        ConfigurationError: the file cannot be read, is no explanation, or is of another plan.
    """
    found = _read_explanation(given) if isinstance(given, Path) else given
    of = (found.snapshot, found.workloads_sha256, found.total_usd)
    if of != (plan.catalog.snapshot, plan.workloads_sha256, plan.objective_usd):
        name = repr(str(given)) if isinstance(given, Path) else "what was found out"
        raise ConfigurationError(f"{name} explains another plan", hint=_WRITE_IT)
    return found


def _read_explanation(path: Path) -> Explanation:
    try:
        return Explanation.model_validate_json(path.read_bytes())
    except OSError as cause:
        raise ConfigurationError(
            f"cannot read explanation {str(path)!r}: {cause.strerror}", hint="check the path"
        ) from cause
    except ValidationError as cause:
        raise ConfigurationError(f"{str(path)!r} is no explanation", hint=_WRITE_IT) from cause


def price_paths(plan: Plan, catalog: Catalog) -> Iterator[PricePath]:
    """Read what the offers that are bought cost over time; one never seen here has no path."""
    for key in sorted(paid_offers(plan)):
        try:
            found = catalog.price_history(key)
        except ConfigurationError:  # the plan is from other prices than this catalog's
            continue
        if found is not None and found.key == key:
            yield _path(found, plan.catalog.as_of)


def _path(found: PriceHistory, as_of: datetime) -> PricePath:
    """End the step that still stands with the catalog, or with the plan if that is later."""
    now = max(found.at, as_of)
    return PricePath(
        found.key,
        tuple(
            PriceStep(
                from_at=step.from_at,
                to_at=step.to_at or now,
                usd_per_hour=step.offer.effective_usd_per_hour,
                is_held=bool(step.held),
            )
            for step in found.steps
        ),
    )
