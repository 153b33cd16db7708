"""Why shapes do not work: of each GPU and number format the reason of what came nearest."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from broker.domain.candidate import Refusal
from broker.domain.offer import Shape
from broker.reports.size_view import UnfitRow

_NEARNESS = {
    "ttft_missed": 0,
    "tpot_missed": 0,
    "deadline_missed": 0,
    "interrupted_too_often": 1,
    "context_too_long": 1,
    "does_not_fit": 2,
    "batch_too_small": 3,
    "gpus_do_not_divide": 4,
    "precision_unsupported": 4,
}
_FARTHEST = 5
_FIGURE = re.compile(r"(?:TTFT p\d+|TPOT p\d+|does not fit by|take) ([\d,.]*\d)")
_NEEDLESS = re.compile(r"\b\d+ in, \d+ out: | less 0 s of network")
"""What is the same of every row: the one size of request, and no network."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal, and of which shape."""

    shape: Shape
    refusal: Refusal

    @property
    def nearness(self) -> tuple[int, float, int]:
        """Order by how near it came: what misses a limit before what does not fit, and by how much.

        The figures of a refusal stand in its detail only.
        """
        told = _FIGURE.search(self.refusal.detail)
        missed = float(told.group(1).replace(",", "")) if told else 0.0
        return _NEARNESS.get(self.refusal.reason, _FARTHEST), missed, int(self.shape.gpu_count)


def unfit_rows(
    refused: Iterable[Refused], working: Iterable[tuple[str, str]]
) -> tuple[UnfitRow, ...]:
    """Make a row of each GPU and format that never works; `working` are pairs that do."""
    fine = set(working)
    nearest: dict[tuple[str, str], Refused] = {}
    for one in refused:
        key = (one.shape.gpu, _format(one.refusal.subject))
        if key in fine or (not key[1] and any(gpu == key[0] for gpu, _ in fine)):
            continue
        best = nearest.get(key)
        if best is None or one.nearness < best.nearness:
            nearest[key] = one
    told = [(key, one) for key, one in nearest.items() if key[1] or not _has_format(key, nearest)]
    return tuple(
        UnfitRow(
            shape=f"{one.shape.gpu_count}×{one.shape.gpu}",
            precision=_what(one.refusal.subject) or "any",
            reason=one.refusal.reason,
            detail=_NEEDLESS.sub("", one.refusal.detail),
        )
        for _, one in sorted(told, key=lambda pair: (pair[1].nearness[0], pair[0]))
    )


def _has_format(key: tuple[str, str], nearest: dict[tuple[str, str], Refused]) -> bool:
    return any(gpu == key[0] and kind for gpu, kind in nearest)


def _format(subject: str) -> str:
    """Read the number format out of what a refusal is about: GPU/link/format/layout.

    That of a run is GPU/fabric/number of GPUs, and has none.
    """
    _, _, kind = (*subject.split("/"), "", "")[:3]
    return "" if kind.startswith("tp") or kind.endswith("GPUs") else kind


def _what(subject: str) -> str:
    return " ".join(subject.split("/")[2:])
