import json

import pytest
from command_line import Gpubroker


def test_coverage_adds_up_to_the_offers(filled: Gpubroker) -> None:
    ended = filled("status", "--format", "json")
    assert ended.code == 0
    told = json.loads(ended.out)
    assert told["schema"] == "gpubroker.status/1"
    assert len(told["snapshot"]) == 64
    kinds = sum(sum(row["price_kinds"].values()) for row in told["providers"])
    assert told["offers"] == sum(row["offers"] for row in told["providers"]) == kinds
    assert told["offers"] == sum(cell["offers"] for cell in told["coverage"])
    assert all(row["newest_age_h"] is not None for row in told["providers"] if row["offers"])


def test_the_tables_have_a_column_for_each_price_kind_that_there_is(filled: Gpubroker) -> None:
    providers, models, kinds = filled("status").out.split("\n\n")
    assert max(map(len, kinds.splitlines())) <= 80
    for table, heading in ((providers, "provider"), (models, "GPU")):
        head, _, *lines = table.splitlines()
        assert head.split()[0] == heading
        assert {"on-demand", "spot", "held", "oldest"} <= set(head.split())
        assert "contract" not in head
        assert max(map(len, [head, *lines])) <= 80


def test_a_cell_of_the_matrix_is_the_offers_that_the_same_filters_list(
    filled: Gpubroker,
) -> None:
    told = json.loads(filled("status", "--gpu", "h100", "--format", "json").out)
    assert {cell["gpu"].split("-")[0] for cell in told["coverage"]} == {"H100"}
    for cell in told["coverage"][:6]:
        options = ("--provider", cell["provider"], "--gpu", cell["gpu"])
        kind = ("--price-kind", cell["price_kind"])
        found = json.loads(filled("offers", *options, *kind, "--format", "json").out)
        assert found["matching"] == cell["offers"]
        assert sum(row["stale"] for row in found["offers"]) == cell["stale"]


def test_a_provider_is_shown_model_by_model(gpubroker: Gpubroker) -> None:
    gpubroker("refresh", "--recorded", "--provider", "lambda", "--provider", "vast")
    lines = gpubroker("status", "--provider", "lambda").out.splitlines()
    assert lines[0].split()[:2] == ["GPU", "provider"]
    assert {line.split()[1] for line in lines[2:]} == {"lambda"}
    assert gpubroker("status", "--provider", "lamda").code == 2


def test_a_provider_that_was_never_asked_is_listed(gpubroker: Gpubroker) -> None:
    gpubroker("refresh", "--recorded", "--provider", "lambda")
    told = json.loads(gpubroker("status", "--format", "json").out)
    runs = {row["provider"]: row["last_run"] for row in told["providers"]}
    assert runs["lambda"] == "refreshed"
    assert runs["aws"] == "never"


def test_every_held_row_is_counted_with_its_reason_and_listed_by_offers(
    filled: Gpubroker,
) -> None:
    ended = filled("status", "--format", "json")
    told = json.loads(ended.out)
    counted = sum(sum(cell["quarantined"].values()) for cell in told["coverage"])
    held = json.loads(filled("offers", "--quarantined", "--format", "json").out)
    assert counted == held["matching"] == len(held["offers"]) > 0
    assert all(row["held"] and row["held_detail"] for row in held["offers"])
    assert "gpubroker offers --quarantined" in ended.err


def test_a_failed_provider_is_told_of(
    gpubroker: Gpubroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUBROKER_PROVIDER_TIMEOUT_S", "1e-9")  # no provider is that quick
    assert gpubroker("refresh", "--recorded", "--provider", "lambda").code == 3
    ended = gpubroker("status")
    assert ended.code == 0
    assert "failed" in ended.out
    assert "lambda: " in ended.err


def test_an_empty_catalog_is_an_error_with_a_way_out(gpubroker: Gpubroker) -> None:
    ended = gpubroker("status")
    assert ended.code == 2
    assert "gpubroker refresh --recorded" in ended.err
