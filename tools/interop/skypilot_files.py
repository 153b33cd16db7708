"""Read exported SkyPilot files with the skypilot package; run in an environment that has it.

    python skypilot_files.py FOLDER

Every file must become a task, and its names must be ones that SkyPilot knows, as its parser lets
false ones pass until a launch. Regions and features are compared with the package itself.
Accelerators are not in the package: it downloads `common/accelerators.csv` of its catalog when it
is first used. What that file says (with the clouds that it leaves out) is in
skypilot_accelerators.csv, with its date.
"""

import contextlib
import copy
import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import sky
import yaml
from module_constants import constant
from sky.clouds import CloudImplementationFeatures as Feature
from sky.jobs import recovery_strategy
from sky.skylet.constants import ALL_CLOUDS

_STRATEGIES = set(recovery_strategy.registry.JOBS_RECOVERY_STRATEGY_REGISTRY)
_FETCHERS = "catalog/data_fetchers"
_FETCHED = "first fetch the catalog of all regions"
Config = dict[str, object]


class Names:
    """What SkyPilot knows of clouds."""

    def __init__(self) -> None:
        """Read the tables."""
        with Path(__file__).with_name("skypilot_accelerators.csv").open(encoding="utf-8") as file:
            self._accelerators = {
                (row["cloud"], row["accelerator"]) for row in csv.DictReader(file)
            }
        self._regions = {
            "aws": set(constant("sky", f"{_FETCHERS}/fetch_aws.py", "ALL_REGIONS")),
            "azure": set(constant("sky", f"{_FETCHERS}/fetch_azure.py", "US_REGIONS")),
            "lambda": set(constant("sky", f"{_FETCHERS}/fetch_lambda_cloud.py", "REGIONS")),
            "runpod": set(constant("sky", f"{_FETCHERS}/fetch_runpod.py", "REGION_ZONES")),
        }
        self._zones = constant("sky", f"{_FETCHERS}/fetch_runpod.py", "REGION_ZONES")
        self.unlisted: Counter[str] = Counter()

    def problems(self, task: sky.Task, text: str) -> Iterator[str]:
        """Say what SkyPilot would refuse at a launch."""
        for resources in task.resources:
            cloud = str(resources.cloud).lower()
            if cloud not in ALL_CLOUDS:
                yield f"there is no cloud {cloud}"
                continue
            for name in resources.accelerators or {}:
                if (cloud, name) not in self._accelerators:
                    yield f"{cloud} has no accelerator {name}"
            strategy = (resources.job_recovery or {}).get("strategy")
            if strategy is not None and strategy.lower() not in _STRATEGIES:
                yield f"there is no recovery strategy {strategy}"
            yield from self._place(cloud, resources, text)
            yield from _features(resources, task)

    def _place(self, cloud: str, resources: sky.Resources, text: str) -> Iterator[str]:
        known, region = self._regions.get(cloud), resources.region
        if cloud == "gcp":
            known = {region} if region.startswith("us-") else set()
        if known is None:
            self.unlisted[cloud] += 1
        elif region not in known and not (cloud in {"gcp", "azure"} and _FETCHED in text):
            yield f"{cloud} has no region {region}"
        if cloud == "runpod" and resources.zone and resources.zone not in self._zones[region]:
            yield f"{region} of {cloud} has no zone {resources.zone}"


def _features(resources: sky.Resources, task: sky.Task) -> Iterator[str]:
    asked = {
        Feature.MULTI_NODE: task.num_nodes > 1,
        Feature.SPOT_INSTANCE: resources.use_spot,
        Feature.OPEN_PORTS: bool(resources.ports),
        Feature.DOCKER_IMAGE: bool(resources.extract_docker_image()),
        Feature.AUTODOWN: bool(resources.autostop_config and resources.autostop_config.down),
    }
    try:
        resources.cloud.check_features_are_supported(
            resources, {feature for feature, is_asked in asked.items() if is_asked}
        )
    except sky.exceptions.NotSupportedError as refusal:
        yield str(refusal)
    for key, value in (resources.labels or {}).items():
        is_valid, why = resources.cloud.is_label_valid(key, value)
        if not is_valid:
            yield f"label {key}: {why}"


def _set(path: str, value: object) -> Callable[[Config], None]:
    def change(config: Config) -> None:
        *parents, last = path.split("/")
        for key in parents:
            config = config[key]
        config[last] = value

    return change


_BROKEN_SERVICES = {
    "an unknown key": _set("resources/acelerators", {"H100": 8}),
    "accelerators that are no numbers": _set("resources/accelerators", {"H100": "many"}),
    "replicas upside down": _set("service/replica_policy/min_replicas", 10_000),
    "a replica range without a target": _set(
        "service/replica_policy", {"min_replicas": 1, "max_replicas": 3}
    ),
    "a cloud that is not": _set("resources/infra", "cloudless/us-east-1"),
    "a region that is not": _set("resources/infra", "aws/us-nowhere-9"),
    "an accelerator that is not": _set("resources/accelerators", {"H1000": 8}),
    "a label that no cloud takes": _set("resources/labels", {"gpubroker-line": "x" * 300}),
}
_BROKEN_JOBS = {
    "no nodes": _set("num_nodes", 0),
    "a recovery that is not": _set("resources/job_recovery", {"strategy": "HOPE"}),
    "a disk in words": _set("resources/disk_size", "large"),
}


def _refuses(config: Config, names: Names) -> bool:
    try:
        task = sky.Task.from_yaml_config(config)
    except (ValueError, AssertionError, sky.exceptions.InvalidSkyPilotConfigError):
        return True
    return any(names.problems(task, ""))


def main(folder: Path) -> int:
    """Read all, break some, and say how it went; the last line is the summary."""
    names, found, failures = Names(), [], []
    for path in sorted(folder.rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        task = sky.Task.from_yaml_config(yaml.load(text, Loader=yaml.CSafeLoader))
        failures += [f"{path.name}: {problem}" for problem in names.problems(task, text)]
        found.append((path, task))
    services = [path for path, task in found if task.service is not None]
    jobs = [path for path, task in found if task.service is None]
    broken = [(services, _BROKEN_SERVICES), (jobs, _BROKEN_JOBS)]
    for paths, changes in broken:
        if not paths:
            failures.append("there is no file to break")
            continue
        good = yaml.load(paths[0].read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        for what, change in changes.items():
            config = copy.deepcopy(good)
            change(config)
            with contextlib.redirect_stdout(sys.stderr):
                if not _refuses(config, names):
                    failures.append(f"{what} was not refused")
    for failure in failures:
        print(failure)
    count = sum(len(changes) for _, changes in broken)
    free = ", ".join(f"{cloud} {number}" for cloud, number in sorted(names.unlisted.items()))
    print(
        f"skypilot {sky.__version__} takes {len(services)} services and {len(jobs)} jobs, and "
        f"refuses {count} broken files; no list of regions to look up in for {free}"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
