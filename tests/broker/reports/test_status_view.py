from collections.abc import Mapping

from broker.reports.formats import FlatRow, Report, as_table
from broker.reports.rows import CoverageRow, KindRow, StatusRow
from broker.reports.status_view import gpus_table, kinds_table, matrix_table, providers_table

KINDS = ("on_demand", "spot", "reserved", "savings_plan", "capacity_block")
PROVIDERS = ("primeintellect", "digitalocean", *(f"provider-{number:02}" for number in range(23)))
GPUS = ("RTXPRO6000-WS", "A100-80-PCIe", *(f"GPU-{number:02}-SXM" for number in range(38)))


def cell(
    provider: str,
    gpu: str,
    kind: str,
    *,
    offers: int = 3,
    stale: int = 0,
    oldest: float = 5.0,
    held: Mapping[str, int] | None = None,
) -> CoverageRow:
    age = oldest if offers else None
    return CoverageRow(provider, gpu, kind, offers, stale, age, age, {"live": offers}, held or {})


def row(provider: str, *, last_run: str = "refreshed", stale: int = 0) -> StatusRow:
    kinds = dict.fromkeys(KINDS, 1234)
    return StatusRow(
        provider=provider,
        offers=6170,
        price_kinds=kinds,
        evidence={},
        stale=stale,
        newest_age_h=2.0,
        oldest_age_h=2000.0,
        quarantined={"price_jumped": 120},
        rejected={"no_price": 7},
        missing=(),
        last_run=last_run,
        last_run_at=None,
        error="",
    )


CELLS = tuple(
    cell(provider, gpu, kind, oldest=2000.0)
    for provider in PROVIDERS
    for gpu in GPUS
    for kind in KINDS
)


def printed(of: Report[FlatRow], width: int = 80) -> list[str]:
    return as_table(of, width).splitlines()


def test_twenty_five_providers_and_forty_models_take_a_line_each_of_eighty_columns() -> None:
    rows = tuple(row(name, stale=12) for name in PROVIDERS)
    for table, count in ((providers_table(rows, CELLS), 25), (gpus_table(CELLS), 40)):
        lines = printed(table)
        assert len(lines) == count + 2
        assert max(map(len, lines)) <= 80
        assert all(heading in lines[0] for heading in ("on-demand", "block", "held", "oldest"))


def test_a_provider_shows_its_counts_its_oldest_price_and_its_last_run() -> None:
    lines = printed(
        providers_table((row("acme", stale=2), row("zenith", last_run="failed")), CELLS), 120
    )
    assert lines[0].split() == [
        *("provider", "on-demand", "spot", "reserved", "savings", "block"),
        *("held", "stale", "oldest", "newest", "rejected", "last", "run"),
    ]
    assert lines[2].split() == ["acme", *["1,234"] * 5, "120", "2", "3mo!", "2h", "7", "refreshed"]
    assert lines[3].split()[-1] == "failed"


def test_a_model_shows_by_how_many_it_is_sold() -> None:
    cells = [
        cell("acme", "H100-SXM", "on_demand"),
        cell("zenith", "H100-SXM", "spot", offers=4, stale=1, oldest=30.0),
        cell("none", "H100-SXM", "spot", offers=0, held={"price_jumped": 2}),
    ]
    assert printed(gpus_table(cells))[2].split() == ["H100-SXM", "2", "3", "4", "2", "1", "30h!"]


def test_a_cell_of_the_matrix_has_its_count_and_the_age_of_its_oldest_offer() -> None:
    cells = [
        cell("zenith", "H100-SXM", "spot", stale=1, oldest=30.0),
        cell("acme", "H100-SXM", "on_demand"),
        cell("acme", "H100-SXM", "spot", offers=0, held={"price_jumped": 2}),
        cell("acme", "A10", "on_demand", oldest=100.0),
    ]
    assert [line.split() for line in printed(matrix_table(cells))[2:]] == [
        ["A10", "acme", "3", "4d", "·", "·"],
        ["H100-SXM", "acme", "3", "5h", "·", "2"],
        ["H100-SXM", "zenith", "·", "3", "30h!", "·"],
    ]


def test_examples_are_no_coverage_of_the_market_unless_there_is_nothing_else() -> None:
    invented = CoverageRow("sample", "H100-SXM", "contract", 2, 0, 1.0, 1.0, {"example": 2}, {})
    cells = [cell("acme", "H100-SXM", "on_demand"), invented]
    assert printed(gpus_table(cells)) == printed(gpus_table(cells[:1]))
    assert [line.split()[1] for line in printed(matrix_table(cells))[2:]] == ["acme"]
    assert [line.split()[1] for line in printed(matrix_table([invented]))[2:]] == ["sample"]


def test_each_price_kind_has_its_offers_and_the_words_of_providers() -> None:
    kinds = (
        KindRow("spot", 1234, 0, 17, ("interruptible", "bids")),
        KindRow("capacity_block", 0, 0, 0, ("blocks",)),
        KindRow("contract", 3, 3, 0, ("quotes",)),
        KindRow("contract", 4, 3, 1, ("quotes",)),
    )
    assert [" ".join(line.split()) for line in printed(kinds_table(kinds))[2:]] == [
        "spot 1,234 17 interruptible, bids",
        "block · · blocks",
        "contract 3 · quotes; all of these are examples, which nobody sells",
        "contract 4 1 quotes; some are examples, which nobody sells",
    ]
