"""The options of `gpubroker size`."""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Literal

import typer

from cli.offer_options import Kind

TABLE_LIMIT = 12
"""Rows in a table where no limit is given; other formats have all."""


MOST = 1_000_000_000
"""The largest number of tokens or GPUs; the domain's own, which a test compares with it."""

MOST_TO_TRAIN_ON = 1e21
"""The same of the tokens of a run."""


class NumberFormat(StrEnum):
    """Number formats; the domain's own would make `--help` slow, a test compares the two."""

    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    INT8 = "int8"
    INT4 = "int4"
    NVFP4 = "nvfp4"
    MXFP4 = "mxfp4"


MethodWord = Literal["full", "lora", "qlora"]
StackWord = Literal["tuned", "torch", "hf"]
BackendWord = Literal["own", "aiconfigurator"]
_Words = list[str] | None

ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="Name or Hugging Face id of a model, or the path of a config.json.",
    ),
]
ServeOption = Annotated[bool, typer.Option("--serve", help="Size a service.")]
TrainOption = Annotated[bool, typer.Option("--train", help="Size a training run.")]
InputOption = Annotated[
    int, typer.Option("--input", min=1, max=MOST, metavar="TOKENS", help="Tokens of a prompt.")
]
OutputOption = Annotated[
    int, typer.Option("--output", min=1, max=MOST, metavar="TOKENS", help="Tokens of an answer.")
]
TOKENS_HELP = "Tokens to train on: 60e9 or 60B."
GpuOption = Annotated[
    _Words, typer.Option(metavar="NAME", help="GPU model or its first words: h100, 'A100 80GB'.")
]
ProviderOption = Annotated[_Words, typer.Option(metavar="NAME", help="Who sells it.")]
RegionOption = Annotated[
    _Words,
    typer.Option(metavar="ID", help="Region, country or continent: us-east-1, de, us, eu ..."),
]
KindOption = Annotated[
    list[Kind] | None,
    typer.Option(
        metavar="KIND", help="How it is bought: on_demand (default), spot, reserved, contract."
    ),
]
PrecisionOption = Annotated[
    list[NumberFormat] | None,
    typer.Option(
        "--precision",
        metavar="FORMAT",
        help=f"Number format, may be given again: {', '.join(NumberFormat)} (default: bf16 and "
        "fp8 to serve, bf16 to train).",
    ),
]
UsersOption = Annotated[
    str | None,
    typer.Option(
        "--users",
        metavar="REGION",
        help="Where the users are (us-east, eu-west ...): the network counts towards the first "
        "token; without it no network does.",
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="NUMBER",
        help=f"Rows to print, 0 for all (default: {TABLE_LIMIT} in a table, else all).",
    ),
]
MarginOption = Annotated[
    float,
    typer.Option("--margin", min=0.0, max=0.9, help="Share taken off every estimated rate."),
]
LayoutsOption = Annotated[
    bool,
    typer.Option(
        "--layouts", help="Every layout or number of GPUs, not the cheapest of each GPU only."
    ),
]
MigOption = Annotated[
    bool,
    typer.Option(
        "--mig", help="MIG slices, too: a quarter or a half of a GPU, where it can be cut."
    ),
]
BackendOption = Annotated[
    BackendWord,
    typer.Option(
        "--backend",
        metavar="NAME",
        help="Whose estimates: own, or those of NVIDIA's aiconfigurator, where it is installed.",
    ),
]
CompareOption = Annotated[
    bool, typer.Option("--compare", help="Show aiconfigurator's estimates beside our own.")
]


def tokens(text: str) -> float:
    """Read a number of tokens: 60e9, 60B, 2.5T.

    Raises:
        BadParameter: it is none.
    """
    scale = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}.get(text[-1:].upper(), 1.0)
    digits = text[:-1] if scale > 1 else text
    try:
        found = float(digits.replace(",", "").replace("_", "")) * scale
    except ValueError:
        found = 0.0
    if not 0 < found <= MOST_TO_TRAIN_ON:
        raise typer.BadParameter(
            f"{text!r} is no number of tokens up to 10²¹; write it as 60e9 or 60B"
        )
    return found


def duration(text: str) -> timedelta:
    """Read a duration with its unit: 10d, 36h.

    Raises:
        BadParameter: it is none.
    """
    from broker.domain.quantities import parse_duration  # noqa: PLC0415 - keeps `--help` quick

    try:
        found = parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if not isinstance(found, timedelta) or found <= timedelta():
        raise typer.BadParameter(f"{text!r} is no duration; write it as 10d or 36h")
    return found


TokensOption = Annotated[
    float | None, typer.Option("--tokens", parser=tokens, metavar="NUMBER", help=TOKENS_HELP)
]
DeadlineOption = Annotated[
    timedelta | None,
    typer.Option(
        "--deadline", parser=duration, metavar="DURATION", help="Time that it may take: 10d, 36h."
    ),
]
