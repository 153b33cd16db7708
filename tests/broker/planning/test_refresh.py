import threading
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path

import httpx
import pytest
from price_lists import GATES, NOON, PriceList, Shop, after
from structlog import reset_defaults
from structlog.testing import capture_logs

from broker.catalog.runs import RunOutcome, RunStatus
from broker.catalog.store import Catalog, open_catalog
from broker.domain.errors import ConfigurationError
from broker.domain.missing import Missing
from broker.domain.offer import Offer, Rejection
from broker.planning.catalog_view import CatalogSource
from broker.planning.refresh import ProviderReader, RefreshReport, refresh_catalog
from broker.planning.service import open_service
from broker.settings import Settings
from broker.store.place import Place


@pytest.fixture
def catalog(place: Place) -> Catalog:
    return open_catalog(place)


@pytest.fixture(autouse=True)
def every_event_is_told() -> None:
    """Undo what a command that ran before in this process told the logs to leave out."""
    reset_defaults()


def refresh(
    catalog: Catalog, shops: dict[str, Shop], *, hours: float = 1, timeout_s: float = 30
) -> RefreshReport:
    def open_client(provider: str) -> httpx.Client:
        return shops[provider].client(provider)

    reader = ProviderReader(open_client, lambda: after(hours), live=True, timeout_s=timeout_s)
    return refresh_catalog(catalog, [PriceList(name) for name in shops], reader, GATES)


def by_provider(report: RefreshReport) -> dict[str, RunOutcome]:
    return {one.provider: one for one in report.outcomes}


def prices(catalog: Catalog) -> dict[str, str]:
    offers = catalog.current_offers()
    return {f"{one.provider}/{one.instance_type}": str(one.usd_per_hour) for one in offers}


def test_every_provider_is_asked_and_written(catalog: Catalog) -> None:
    report = refresh(catalog, {"b": Shop({"x": "2.00"}), "a": Shop({"y": "3.00", "z": "0"})})
    assert [one.provider for one in report.outcomes] == ["a", "b"]
    assert [one.status for one in report.outcomes] == [RunStatus.REFRESHED] * 2
    assert by_provider(report)["a"].rejected == {"no_price": 1}
    assert prices(catalog) == {"a/y": "3.000000", "b/x": "2.000000"}
    assert report.failed == ()


def test_a_provider_that_breaks_on_its_second_page_keeps_all_its_old_offers(
    catalog: Catalog,
) -> None:
    good, bad = Shop({"x": "2.00"}), Shop({"y": "3.00"})
    refresh(catalog, {"good": good, "bad": bad}, hours=1)
    good.prices, bad.prices = {"x": "2.10"}, {"y": "3.10", "new": "1.00"}
    bad.second_page = "<html>busy</html>"
    report = refresh(catalog, {"good": good, "bad": bad}, hours=2)
    failed = by_provider(report)["bad"]
    assert (failed.status, failed.offers) == (RunStatus.FAILED, 1)
    assert failed.newest_observed_at == NOON
    assert "cannot be read" in failed.error
    assert [one.provider for one in report.failed] == ["bad"]
    assert prices(catalog) == {"bad/y": "3.000000", "good/x": "2.100000"}


def test_a_provider_that_answers_too_late_is_given_up(catalog: Catalog) -> None:
    quick, slow = Shop({"x": "2.00"}), Shop({"y": "3.00"})
    refresh(catalog, {"quick": quick, "slow": slow}, hours=1)
    slow.released.clear()
    try:
        report = refresh(catalog, {"quick": quick, "slow": slow}, hours=2, timeout_s=1.5)
    finally:
        slow.released.set()
    late = by_provider(report)["slow"]
    assert (late.status, late.offers) == (RunStatus.FAILED, 1)
    assert late.error == "slow: not done within 1.5 s"
    assert by_provider(report)["quick"].status is RunStatus.REFRESHED


class Counting(PriceList):
    """Counts the pages that it is asked for, and is slow to hand on the first."""

    def __init__(self) -> None:
        super().__init__()
        self.pages = 0

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
        for reply in super().fetch(http):
            self.pages += 1
            threading.Event().wait(0.05)
            yield reply


def test_a_provider_whose_time_is_up_is_not_asked_further() -> None:
    adapter = Counting()
    reader = ProviderReader(Shop({}).client, lambda: NOON, live=True, timeout_s=0.01)
    ((_, error),) = reader.read_all([adapter])
    assert "not done within 0.01 s" in str(error)
    threading.Event().wait(0.2)
    assert adapter.pages <= 1  # none, where the machine is busy


class InParts(PriceList):
    """Lists one region; of some others, and of all if asked, it can only tell that they failed."""

    def __init__(self, *missing: str, reads: bool = True) -> None:
        super().__init__()
        self.missing = missing
        self.reads = reads

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response | Missing]:
        if self.reads:
            yield from super().fetch(http)
        for region in self.missing:
            yield Missing(self.name, region=region, why="shop answered 503")


def refresh_parts(catalog: Catalog, adapter: PriceList, shop: Shop, hours: float) -> RunOutcome:
    reader = ProviderReader(shop.client, lambda: after(hours), live=True, timeout_s=30)
    (outcome,) = refresh_catalog(catalog, [adapter], reader, GATES).outcomes
    return outcome


def test_a_part_that_fails_is_told_and_the_rest_is_written(catalog: Catalog) -> None:
    shop = Shop({"x": "2.00"})
    with capture_logs() as logs:
        outcome = refresh_parts(catalog, InParts("there", "elsewhere"), shop, 1)
    assert outcome.status is RunStatus.PARTIAL
    assert outcome.error == "there, elsewhere could not be read: shop answered 503"
    assert prices(catalog) == {"acme/x": "2.000000"}
    assert [log["event"] for log in logs] == ["offers_refreshed_in_part"]


def test_a_provider_of_which_every_part_fails_has_failed(catalog: Catalog) -> None:
    shop = Shop({"x": "2.00"})
    refresh_parts(catalog, PriceList(), shop, 1)
    outcome = refresh_parts(catalog, InParts("here", "there", reads=False), shop, 2)
    assert outcome.status is RunStatus.FAILED
    assert outcome.error == "acme: here, there could not be read: shop answered 503"
    assert (outcome.offers, outcome.missing) == (1, ())
    assert prices(catalog) == {"acme/x": "2.000000"}


def test_rows_with_one_key_are_told_in_the_log(catalog: Catalog) -> None:
    class Twice(PriceList):
        def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
            for row in super().offers_in(replies):
                yield row
                yield row.model_copy(update={"usd_per_hour": Decimal("2.50")})

    with capture_logs() as logs:
        outcome = refresh_parts(catalog, Twice(), Shop({"x": "2.00"}), 1)
    assert outcome.quarantined == {"duplicate_key": 1}
    assert prices(catalog) == {"acme/x": "2.500000"}
    (clash,) = (log for log in logs if log["event"] == "offer_keys_clashed")
    assert (clash["provider"], clash["keys"]) == ("acme", 1)
    assert clash["first"] == "acme/x/here@on_demand"


@pytest.mark.parametrize("body", [b"[" * 200_000, b'{"next": "https://prices.example/\\u0000"}'])
def test_a_reply_that_no_adapter_can_read_is_the_failure_of_its_provider_alone(
    catalog: Catalog, body: bytes
) -> None:
    class Linked(PriceList):
        def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
            reply = httpx.Response(200, content=body)
            yield http.get(httpx.URL(reply.json()["next"]))

    reader = ProviderReader(Shop({"x": "2.00"}).client, lambda: NOON, live=True, timeout_s=30)
    report = refresh_catalog(catalog, [Linked("bad"), PriceList("good")], reader, GATES)
    assert [(one.provider, one.status) for one in report.outcomes] == [
        ("bad", RunStatus.FAILED),
        ("good", RunStatus.REFRESHED),
    ]
    assert prices(catalog) == {"good/x": "2.000000"}


def test_a_price_beyond_what_can_be_counted_spoils_no_other(catalog: Catalog) -> None:
    shop = Shop({"x": "2.00", "y": "90000000000000", "z": "1000000001"})
    (outcome,) = refresh(catalog, {"acme": shop}).outcomes
    assert (outcome.status, outcome.rejected) == (RunStatus.REFRESHED, {"price_beyond_any": 2})
    assert prices(catalog) == {"acme/x": "2.000000"}


def test_a_bug_in_an_adapter_is_not_taken_for_a_failure_of_its_provider(catalog: Catalog) -> None:
    class Broken(PriceList):
        def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
            raise RuntimeError(f"a bug, closed: {http.is_closed}")

    reader = ProviderReader(Shop({}).client, lambda: NOON, live=True, timeout_s=30)
    with pytest.raises(RuntimeError, match="a bug"):
        refresh_catalog(catalog, [Broken()], reader, GATES)
    assert catalog.last_runs() == ()


def test_each_provider_is_told_of_when_it_is_done(catalog: Catalog) -> None:
    done: list[str] = []
    reader = ProviderReader(Shop({"x": "2.00"}).client, lambda: NOON, live=True, timeout_s=30)
    adapters = [PriceList("a"), PriceList("b")]
    refresh_catalog(catalog, adapters, reader, GATES, on_done=lambda one: done.append(one.provider))
    assert sorted(done) == ["a", "b"]


def test_the_service_refreshes_from_recordings_and_the_store_has_the_same_offers(
    tmp_path: Path,
) -> None:
    service = open_service(Settings(data_dir=tmp_path), clock=lambda: after(1000))
    recorded = service.offers_from_recordings()
    assert not list(tmp_path.iterdir())
    report = service.refresh(recorded=True)
    assert [one.provider for one in report.outcomes] == sorted(service.asked(recorded=True))
    assert report.failed == ()
    stored = service.offers_from_store()
    assert stored.offers == recorded.offers
    assert stored.snapshot == recorded.snapshot
    assert service.view(CatalogSource(snapshot=stored.snapshot)).offers == stored.offers


def test_the_present_of_recordings_is_their_newest_observation(tmp_path: Path) -> None:
    service = open_service(Settings(data_dir=tmp_path), clock=lambda: after(100_000))
    view = service.offers_from_recordings()
    assert view.now == view.as_of
    assert view.as_of == max(one.provenance.observed_at for one in view.all_offers)
    service.refresh(["lambda"], recorded=True)
    assert service.offers_from_store().now == after(100_000)


def test_one_provider_can_be_refreshed_alone(tmp_path: Path) -> None:
    service = open_service(Settings(data_dir=tmp_path), clock=lambda: NOON)
    report = service.refresh(["lambda"], recorded=True)
    assert [one.provider for one in report.outcomes] == ["lambda"]


def test_an_unknown_provider_is_answered_with_the_nearest(tmp_path: Path) -> None:
    service = open_service(Settings(data_dir=tmp_path), clock=lambda: NOON)
    with pytest.raises(ConfigurationError, match="unknown provider 'lamda'") as error:
        service.refresh(["lamda"], recorded=True)
    assert error.value.hint == "did you mean one of: lambda?"


def test_an_empty_store_says_how_to_fill_it(tmp_path: Path) -> None:
    service = open_service(Settings(data_dir=tmp_path), clock=lambda: NOON)
    with pytest.raises(ConfigurationError, match="the catalog is empty") as error:
        service.offers_from_store()
    assert "gpubroker refresh --recorded" in error.value.hint


def test_a_hash_that_the_store_never_had_is_an_error(tmp_path: Path) -> None:
    service = open_service(Settings(data_dir=tmp_path), clock=lambda: NOON)
    with pytest.raises(ConfigurationError, match="the catalog never was 'abc'"):
        service.view(CatalogSource(snapshot="abc"))


def test_two_sources_at_once_are_an_error() -> None:
    with pytest.raises(ConfigurationError, match="different catalogs"):
        CatalogSource(recorded=True, snapshot="abc")
