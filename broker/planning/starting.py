"""First files: settings with a comment on each, and workloads from a few answers."""

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from broker.clock import Clock
from broker.domain.errors import ConfigurationError
from broker.planning.workloads_file import TODAY, check_names, parse_workloads
from broker.settings import Settings
from broker.specs.load import Specs, load_specs
from providers.registry import PROVIDERS, adapters

DAYS = 14
SLOT = "4h"
_WIDTH = 96
_LATER_DAYS = 2
"""Days of the horizon after the deadline of a run."""
_EXAMPLES: Mapping[str, str] = {
    "data_dir": '"~/gpubroker"',
    "database": '"postgresql://user:password@host:5432/gpubroker"',
    "slack_webhook_url": '"https://hooks.slack.com/services/…"',
    "webhook_url": '"https://example.com/alerts"',
    "webhook_secret": '"…"',
    "smtp_host": '"smtp.example.com"',
    "smtp_user": '"…"',
    "smtp_password": '"…"',
    "mail_from": '"gpubroker@example.com"',
    "mail_to": '["ops@example.com"]',
    "alert_file": '"alerts.jsonl"',
}
"""What stands in the comment of a setting that has no value of its own by default."""


@dataclass(frozen=True, slots=True)
class ServiceAnswers:
    """What a person says of a service: its model and load, and where its users are."""

    model: str
    mean_requests_per_s: float
    peak_requests_per_s: float
    input_tokens: int = 1000
    output_tokens: int = 300
    users: str = "us-east"


@dataclass(frozen=True, slots=True)
class RunAnswers:
    """What a person says of a training run: what, how much, how, and until when."""

    model: str
    tokens: float
    days: int = 7
    method: str = "lora"


class Starter:
    """Writes the texts of first files; it knows the tables and the day, and touches no file."""

    def __init__(self, specs: Specs, today: date) -> None:
        self._specs = specs
        self._today = today

    def check_model(self, name: str) -> None:
        """Find out whether there is such a model.

        Raises:
            ConfigurationError: there is none.
        """
        self._specs.llm(name)

    def check_users(self, name: str) -> None:
        """Find out whether users can be in such a region.

        Raises:
            ConfigurationError: they cannot.
        """
        self._specs.user_region(name)

    def settings_text(self) -> str:
        """Write a settings file in which every setting is a comment with its default."""
        keys = {one.name: one.keys for one in adapters(self._specs, Settings.model_construct())}
        return "".join(f"{line}\n" for line in (*_settings_lines(), *_provider_lines(keys)))

    def workloads_text(self, service: ServiceAnswers | None, run: RunAnswers | None) -> str:
        """Write a workloads file, and check it as a plan would.

        Raises:
            ConfigurationError: there is nothing to plan, or an answer is none that a plan takes.
        """
        if service is None and run is None:
            raise ConfigurationError(
                "there is nothing to plan", hint="give --model, --train-model, or both"
            )
        start = self._today + timedelta(days=1)
        lines = [*_head_lines(start, run), *(_run_lines(start, run) if run else ())]
        lines += _service_lines(service) if service else ()
        text = "".join(f"{line}\n" for line in lines)
        check_names(parse_workloads(text, "the answers", today=self._today), self._specs)
        return text


def open_starter(clock: Clock) -> Starter:
    """Make a starter for the day that the clock shows."""
    return Starter(load_specs(), clock().date())


def setting_texts() -> dict[str, str]:
    """Give what each setting means: the text below it in its class."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(Settings)))
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    texts: dict[str, str] = {}
    for field, after in pairwise(body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            texts[field.target.id] = " ".join(str(after.value.value).split())
    return texts


def _settings_lines() -> Iterator[str]:
    yield "# Settings of gpubroker. Take the # away from what you set; the rest stays as shown."
    yield "# A variable GPUBROKER_<NAME> in the environment wins over this file."
    for name, text in setting_texts().items():
        if name in ("keys", "regions"):
            continue
        yield ""
        yield from textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="# ")
        yield f"# {name} = {_default(name, Settings.model_fields[name])}"


def _provider_lines(keys: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    yield ""
    yield "# Keys of providers, each in its table. A key goes to its own provider alone. Keep this"
    yield "# file to yourself (chmod 600). Providers without a line here need no key. `regions` is"
    yield '# for any of them: regions = ["us-east-1"] reads those alone.'
    for provider in PROVIDERS:
        if keys.get(provider):
            yield ""
            yield f"# [providers.{provider}]"
            yield from (f'# {key} = "…"' for key in keys[provider])


def _default(name: str, field: FieldInfo) -> str:
    if name in _EXAMPLES:
        return _EXAMPLES[name]
    value = field.default
    if value is None or value is PydanticUndefined or isinstance(value, (SecretStr, Path)):
        return '"…"'
    return json.dumps(value) if isinstance(value, (bool, str)) else f"{value}"


def _head_lines(start: date, run: RunAnswers | None) -> Iterator[str]:
    days = max(DAYS, run.days + _LATER_DAYS) if run else DAYS
    yield "# What is to be planned. `gpubroker schema workloads` has every key with its meaning."
    yield "schema: gpubroker.workloads/1"
    begins = start if run else TODAY  # a run has its dates, a service goes on
    yield f"horizon: {{start: {begins}, days: {days}, slot: {SLOT}}}"
    yield "policy:"
    yield '  # providers: {deny: [vast, "runpod:community"]}    # whom not to buy from'
    yield "  # regions: {allow: [us, eu]}                       # where nodes may stand"
    yield "  # budget_usd_per_month: 50000"
    yield "  commitments: {max_term_months: 0}      # 12: reserve for up to a year, if it pays"
    yield "  safety_margin: 0.15                    # taken off every estimated rate"


def _run_lines(start: date, run: RunAnswers) -> Iterator[str]:
    deadline = start + timedelta(days=run.days)
    yield "training:"
    yield f"  - name: {_name('train', run.model)}"
    yield f"    model: {run.model}"
    yield f"    method: {run.method:<27}# full, lora or qlora"
    yield f"    tokens: {_scientific(run.tokens):<27}# all epochs together"
    yield f"    window: {{earliest: {start}, deadline: {deadline}}}"
    yield "    restartable: false                 # true: it keeps checkpoints, so spot will do"


def _service_lines(service: ServiceAnswers) -> Iterator[str]:
    mean, peak = service.mean_requests_per_s, service.peak_requests_per_s
    yield "services:"
    yield f"  - name: {_name('serve', service.model)}"
    yield f"    model: {service.model}"
    yield "    precisions: [fp8, bf16]            # formats of the weights that will do"
    yield "    # gpubroker profile makes the next two from a log of requests"
    yield f"    traffic: {{requests_per_s: {{mean: {mean:g}, peak: {peak:g}, peak_hour: 14}}}}"
    yield "    sizes:"
    yield (
        f"      - {{input_tokens: {service.input_tokens}, output_tokens: {service.output_tokens}, "
        "share: 1.0}"
    )
    yield "    slo: {ttft: {p95: 3 s}, tpot: {p95: 100 ms}}   # first token, each one after it"
    yield f"    users: {{{service.users}: 1.0}}"
    yield "    availability: {spare_replicas: 0}  # 1: one more than the load needs"
    yield "    spot: {max_share: 0}               # part of the load that may sit on spot"


def _scientific(value: float) -> str:
    """Write a number as YAML reads one: with a point and the sign of its power."""
    digits, _, power = f"{value:.6e}".partition("e")
    digits = digits.rstrip("0")
    return f"{digits}{'0' * digits.endswith('.')}e{power}"


def _name(what: str, model: str) -> str:
    """Make a name of a model's, which may be an id with a slash."""
    plain = "".join(one if one.isalnum() or one in "._-" else "-" for one in model.lower())
    return f"{what}-{plain}"[:63].rstrip("-._")
