import json

import pytest
from command_line import Gpubroker


def test_coverage_adds_up_to_the_offers(gpubroker: Gpubroker) -> None:
    gpubroker("refresh", "--recorded")
    ended = gpubroker("status", "--format", "json")
    assert ended.code == 0
    told = json.loads(ended.out)
    assert told["schema"] == "gpubroker.status/1"
    assert len(told["snapshot"]) == 64
    kinds = sum(sum(row["price_kinds"].values()) for row in told["providers"])
    assert told["offers"] == sum(row["offers"] for row in told["providers"]) == kinds
    assert all(row["newest_age_h"] is not None for row in told["providers"] if row["offers"])


def test_the_table_has_a_column_for_each_price_kind_that_there_is(gpubroker: Gpubroker) -> None:
    gpubroker("refresh", "--recorded")
    head, _, *lines = gpubroker("status").out.splitlines()
    assert head.split()[:2] == ["provider", "on-demand"]
    assert "spot" in head
    assert "contract" not in head
    assert max(map(len, [head, *lines])) <= 80


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
