"""What rivals are compared on: the workloads of the package, and generated instances."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from program_bench.case import case_of as generated_case
from program_bench.generate import generate
from program_bench.market import START

from broker.domain.errors import ConfigurationError
from broker.examples.catalog import copy_example, examples
from broker.planning.case import CaseReport
from broker.planning.planner import Catalog
from broker.planning.plans import case_of, catalog_of
from broker.planning.service import PlanningService
from broker.planning.workloads_file import read_workloads

GENERATED = ("small:1", "small:2", "small:5")


@dataclass(frozen=True, slots=True)
class Instance:
    """A case, and the catalog that its plans are made from."""

    name: str
    report: CaseReport
    catalog: Catalog


def instance_names() -> tuple[str, ...]:
    """Name what is compared without a word to the contrary."""
    return (*(one.name.removesuffix(".yaml") for one in examples()), *GENERATED)


def read_instance(name: str, service: PlanningService) -> Instance:
    """Make an instance: SIZE:SEED is generated, else it is an example over the recorded prices.

    Raises:
        ConfigurationError: there is no such instance.
    """
    size, _, seed = name.partition(":")
    if seed:
        if not seed.isdigit():
            raise ConfigurationError(f"{name!r} has no seed", hint="write one such as small:5")
        case = generated_case(generate(size, int(seed)))
        return Instance(name, CaseReport(case, (), ()), Catalog("", len(case.offers), START))
    with TemporaryDirectory() as folder:
        workloads = read_workloads(copy_example(name, Path(folder)))
    view = service.offers_from_recordings()
    report = case_of(workloads, view, service.specs, service.settings)
    return Instance(name, report, catalog_of(view))
