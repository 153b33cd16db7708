"""The door for `gpubroker size`: what serves or trains a model, over any catalog."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from broker.domain.llm import LlmModel
from broker.domain.offer import PriceKind
from broker.planning.catalog_view import CatalogSource, CatalogView
from broker.planning.measured.service import own_numbers_of
from broker.planning.plans import freshness_of
from broker.planning.sized import Sizer
from broker.planning.sizing.asked import ServeAsked, TrainAsked
from broker.planning.sizing.opinion import Estimator, compared, judged_by
from broker.planning.sizing.serving import serve_rows, served
from broker.planning.sizing.shapes import shapes_sold
from broker.planning.sizing.training import train_rows, trained
from broker.planning.sizing.unfit import unfit_rows
from broker.reports.formats import Plain, plain
from broker.reports.size_view import OpinionRow, ServeRow, TrainRow, UnfitRow
from broker.specs.hf_config import is_config_path, read_config

if TYPE_CHECKING:
    from broker.planning.service import PlanningService


@dataclass(frozen=True, slots=True)
class ServeSizing:
    """What serves, cheapest first, what does not, and the second opinion where asked for."""

    rows: tuple[ServeRow, ...]
    unfit: tuple[UnfitRow, ...]
    opinions: tuple[OpinionRow, ...]
    facts: dict[str, Plain]


@dataclass(frozen=True, slots=True)
class TrainSizing:
    """What trains in time, cheapest first, and what does not."""

    rows: tuple[TrainRow, ...]
    unfit: tuple[UnfitRow, ...]
    facts: dict[str, Plain]


class SizingService:
    """Sizes models over a catalog; `measurements` is a file of own points other than the usual."""

    def __init__(self, planning: "PlanningService", measurements: Path | None = None) -> None:
        self._planning = planning
        self._measurements = measurements

    def serve(
        self,
        asked: ServeAsked,
        source: CatalogSource,
        *,
        most: int | None = None,
        backend: Estimator | None = None,
        beside: Estimator | None = None,
    ) -> ServeSizing:
        """Say what serves a model within an objective.

        `backend` estimates in place of our formulas what those find to fit, `beside` is shown next
        to them; both are asked of the `most` cheapest rows.

        Raises:
            ConfigurationError: a name is not known, or the catalog has no offer to size for.
        """
        model = self.model(asked.model)
        view = self._planning.view(source)
        sizer = self._sizer(asked.safety_margin, model)
        sold = shapes_sold(
            view,
            asked.among,
            freshness_of(view, self._planning.settings),
            kinds=asked.among.price_kinds,
        )
        found, refused = served(asked, sold, sizer, model)
        shown = found[:most]
        if backend is not None:
            shown, more = judged_by(backend, shown, asked, model)
            refused += more
        working = found if backend is None else shown
        return ServeSizing(
            rows=serve_rows(shown, asked),
            unfit=unfit_rows(
                refused, ((one.candidate.gpu, one.candidate.precision.value) for one in working)
            ),
            opinions=compared(beside, shown, asked, model) if beside else (),
            facts=_facts(view, model) | {"found": len(found), "other": _name(backend or beside)},
        )

    def train(
        self, asked: TrainAsked, source: CatalogSource, *, most: int | None = None
    ) -> TrainSizing:
        """Say what trains a model, and at what cost.

        Raises:
            ConfigurationError: a name is not known, or the catalog has no offer to size for.
        """
        model = self.model(asked.model)
        view = self._planning.view(source)
        kinds = {*asked.among.price_kinds, PriceKind.SPOT}
        freshness = freshness_of(view, self._planning.settings)
        sold = shapes_sold(view, asked.among, freshness, kinds=kinds)
        found, refused = trained(asked, sold, self._sizer(asked.safety_margin, model), model)
        working = {(one.gpu.name, "") for one in found}
        return TrainSizing(
            rows=train_rows(found[:most], asked),
            unfit=unfit_rows(refused, working),
            facts=_facts(view, model) | {"found": len(found)},
        )

    def model(self, spelled: str) -> LlmModel:
        """Find a model by name, or read it from a configuration file or its folder.

        Raises:
            ConfigurationError: there is none; the hint has the nearest names.
        """
        if is_config_path(spelled):
            return read_config(Path(spelled))
        return self._planning.specs.llm(spelled)

    def _sizer(self, margin: float, model: LlmModel) -> Sizer:
        planning = self._planning
        own = own_numbers_of(
            planning.settings,
            planning.specs,
            path=self._measurements,
            models={model.name: model},
        )
        return Sizer(planning.specs, margin, own)


def _facts(view: CatalogView, model: LlmModel) -> dict[str, Plain]:
    return {
        "snapshot": view.snapshot,
        "as_of": plain(view.as_of),
        "model": model.name,
        "params_b": round(model.params_b, 3),
        "active_params_b": round(model.active_params_b, 3),
    }


def _name(estimator: Estimator | None) -> str:
    return estimator.name if estimator else ""
