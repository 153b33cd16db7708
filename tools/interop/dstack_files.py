"""Read exported dstack files with the dstack package; run in an environment that has it.

    python dstack_files.py FOLDER

Every file must become a configuration, and its names must be ones that dstack knows, as its parser
lets false GPUs and regions pass until an offer is looked for. GPUs are compared with gpuhunt, which
dstack finds offers by; regions and features with the backends' own modules, read and not imported,
as each needs its cloud's SDK.
"""

import copy
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import gpuhunt
import yaml
from dstack._internal.core.errors import ConfigurationError
from dstack._internal.core.models.configurations import (
    parse_apply_configuration,
    parse_run_configuration,
)
from dstack._internal.core.services import is_valid_dstack_resource_name
from module_constants import bases, constant

_BACKENDS = "_internal/core/backends"
_MODULES = {"lambda": "lambdalabs", "digitalocean": "digitalocean_base"}
_TO_ADD = "first name the region under regions of the backend"
Config = dict[str, object]


class Names:
    """What dstack knows of backends, regions and GPUs."""

    def __init__(self) -> None:
        """Read the tables."""
        self._gpus = {one.name.lower(): one for one in gpuhunt.KNOWN_ACCELERATORS}
        memory: dict[str, set[int]] = {}
        for one in gpuhunt.KNOWN_ACCELERATORS:
            memory.setdefault(one.name.lower(), set()).add(one.memory)
        self._memory = memory
        own = f"{_BACKENDS}/{{}}/configurator.py"
        aws = constant("dstack", own.format("aws"), "REGIONS")
        azure = constant("dstack", own.format("azure"), "LOCATIONS")
        gcp = constant("dstack", own.format("gcp"), "LOCATIONS")
        jarvislabs = constant("gpuhunt", "providers/jarvislabs.py", "JARVISLABS_REGION_URLS")
        self._regions = {
            "aws": {region for _, region in aws},
            "azure": {region for _, region in azure},
            "gcp": {region for continent in gcp for region in continent["regions"]},
            "oci": set(constant("dstack", own.format("oci"), "SUPPORTED_REGIONS")),
            "jarvislabs": set(jarvislabs),
        }
        self.unlisted: Counter[str] = Counter()

    def problems(self, config: Config, text: str) -> Iterator[str]:
        """Say what would find no offer, or be refused later."""
        if not is_valid_dstack_resource_name(config["name"]):
            yield f"{config['name']} is no name for a run or fleet"
        yield from self._gpu(config["resources"]["gpu"])
        (backend,), (region,) = config["backends"], config["regions"]
        known = self._regions.get(backend)
        if known is None:
            self.unlisted[backend] += 1
        elif region not in known and not (backend == "gcp" and _TO_ADD in text):
            yield f"{backend} has no region {region}"
        yield from _features(config, backend)

    def _gpu(self, asked: Config) -> Iterator[str]:
        known = self._gpus.get(asked["name"].lower())
        if known is None:
            yield f"there is no GPU {asked['name']}"
            return
        if known.vendor.value != asked["vendor"]:
            yield f"{asked['name']} is not of {asked['vendor']}"
        memory = str(asked.get("memory", "")).removesuffix("GB")
        sizes = self._memory[asked["name"].lower()]
        if len(sizes) > 1 and not memory:
            yield f"{asked['name']} needs a size of memory: {sizes}"
        if memory and int(memory) not in sizes:
            yield f"{asked['name']} has no {memory} GB: {sizes}"


def _features(config: Config, backend: str) -> Iterator[str]:
    can = bases("dstack", f"{_BACKENDS}/{_MODULES.get(backend, backend)}/compute.py")
    asked = {
        "ComputeWithMultinodeSupport": config["type"] == "task" and config["nodes"] > 1,
        "ComputeWithCreateInstanceSupport": config.get("blocks", 1) != 1,
        "ComputeWithReservationSupport": "reservation" in config,
    }
    for feature, is_asked in asked.items():
        if is_asked and feature not in can:
            yield f"{backend} is no {feature}"


def _set(path: str, value: object) -> Callable[[Config], None]:
    def change(config: Config) -> None:
        *parents, last = path.split("/")
        for key in parents:
            config = config[key]
        config[last] = value

    return change


_BROKEN = {
    "service": {
        "an unknown key": _set("max_duraton", "2h"),
        "replicas upside down": _set("replicas", "5..2"),
        "a metric that is not": _set("scaling", {"metric": "tokens", "target": 3}),
        "a backend that is not": _set("backends", ["cloudless"]),
        "a region that is not": _set("regions", ["us-nowhere-9"]),
        "a GPU that is not": _set("resources/gpu/name", "H1000"),
        "another vendor's GPU": _set("resources/gpu/vendor", "google"),
    },
    "task": {
        "an end in words": _set("max_duration", "soon"),
        "no nodes": _set("nodes", 0),
        "a retry on nothing": _set("retry", {"on_events": []}),
        "a tag that is none": _set("tags", {"gpubroker line": "x"}),
    },
    "fleet": {
        "nodes upside down": _set("nodes", {"min": 3, "max": 1}),
        "a placement that is not": _set("placement", "near"),
        "a name that is too long": _set("name", "x" * 60),
    },
}


def _parsed(config: Config) -> None:
    parse_apply_configuration(copy.deepcopy(config))
    if config["type"] != "fleet":
        parse_run_configuration(copy.deepcopy(config))


def _refuses(config: Config, names: Names) -> bool:
    try:
        _parsed(config)
    except (ConfigurationError, ValueError):
        return True
    return any(names.problems(config, ""))


def _breakings(files: dict[str, list[Config]], names: Names) -> Iterator[str]:
    for kind, changes in _BROKEN.items():
        if not files[kind]:
            yield f"there is no {kind} to break"
            continue
        for what, change in changes.items():
            config = copy.deepcopy(files[kind][0])
            change(config)
            if not _refuses(config, names):
                yield f"{what} was not refused"


def main(folder: Path) -> int:
    """Read all, break some, and say how it went; the last line is the summary."""
    names, failures = Names(), []
    files: dict[str, list[Config]] = {"service": [], "task": [], "fleet": []}
    for path in sorted(folder.rglob("*.dstack.yml")):
        text = path.read_text(encoding="utf-8")
        config = yaml.load(text, Loader=yaml.CSafeLoader)
        _parsed(config)
        failures += [f"{path.name}: {problem}" for problem in names.problems(config, text)]
        fleets = config.get("fleets", [])
        failures += [
            f"{path.name}: no file makes the fleet {fleet}"
            for fleet in fleets
            if not (path.parent / f"{fleet}.dstack.yml").exists()
        ]
        files[config["type"]].append(config)
    failures += _breakings(files, names)
    for failure in failures:
        print(failure)
    counts = ", ".join(f"{len(found)} {kind}s" for kind, found in files.items())
    broken = sum(len(changes) for changes in _BROKEN.values())
    free = ", ".join(f"{backend} {number}" for backend, number in sorted(names.unlisted.items()))
    print(
        f"dstack {version('dstack')} takes {counts}, and refuses {broken} broken files; "
        f"no list of regions to look up in for {free}"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
