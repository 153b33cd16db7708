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
from broker.exports.files import ExportFile
from broker.exports.forms import export, takes_extras
from broker.exports.reasons import paid_offers
from broker.planning.plans import read_plan
from broker.settings import Settings


def export_plan(
    path: Path, form: str, settings: Settings, explanation: Path | None = None
) -> tuple[ExportFile, ...]:
    """Make the files of a form from a plan file, and from what `explain` wrote about it.

    Raises:
        ConfigurationError: a file cannot be used or is of another plan, the form has no place for
            an explanation, or the catalog's database cannot be read.
    """
    plan = read_plan(path)
    if not takes_extras(form):
        if explanation is not None:
            raise ConfigurationError(
                f"--to {form} has no place for an explanation", hint="give it with --to html"
            )
        return export(plan, form)
    prices: tuple[PricePath, ...] = ()
    if settings.database_path.exists():  # looking for what is known makes no database
        prices = tuple(price_paths(plan, open_catalog(settings.database_path)))
    said = () if explanation is None else told(_read_explanation(explanation, plan))
    return export(plan, form, Extras(prices=prices, told=said))


def _read_explanation(path: Path, plan: Plan) -> Explanation:
    """Read what `explain` wrote as JSON.

    Raises:
        ConfigurationError: the file cannot be read, is no explanation, or is of another plan.
    """
    hint = "write it with `gpubroker explain PLAN --format json`"
    try:
        found = Explanation.model_validate_json(path.read_bytes())
    except OSError as cause:
        raise ConfigurationError(
            f"cannot read explanation {str(path)!r}: {cause.strerror}", hint="check the path"
        ) from cause
    except ValidationError as cause:
        raise ConfigurationError(f"{str(path)!r} is no explanation", hint=hint) from cause
    of = (found.snapshot, found.workloads_sha256, found.total_usd)
    if of != (plan.catalog.snapshot, plan.workloads_sha256, plan.total_usd):
        raise ConfigurationError(f"{str(path)!r} explains another plan", hint=hint)
    return found


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
