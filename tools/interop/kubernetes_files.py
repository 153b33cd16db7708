"""Validate exported Kubernetes objects; run in an environment that has kubernetes-validate.

    python kubernetes_files.py FOLDER

Validation is strict: a field that the schema does not know is an error.
"""

import copy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml

Object = dict[str, Any]


def main(folder: Path) -> int:
    """Check all files, then broken objects; the last line says what was found."""
    files = sorted(folder.glob("*/*.yaml"))
    objects = [one for file in files for one in yaml.safe_load_all(file.read_text("utf-8"))]
    if not objects:
        print(f"there is no object in {folder}")
        return 1
    problems = [f"{one['metadata']['name']}: {told}" for one in objects if (told := _told(one))]
    problems += [
        f"a {kind} with {name} was accepted"
        for (kind, name), broken in _BREAKS.items()
        if not _told(_broken(next(one for one in objects if one["kind"] == kind), broken))
    ]
    if problems:
        print("\n".join(problems))
        return 1
    print(
        f"kubernetes-validate accepts {len(objects)} objects of {len(files)} files for Kubernetes "
        f"{kubernetes_validate.latest_version()}, and refuses {len(_BREAKS)} broken ones"
    )
    return 0


def _told(one: Object) -> str:
    """Give what the schema says against an object; empty where it is good."""
    version = kubernetes_validate.latest_version()
    try:
        kubernetes_validate.validate(one, version, strict=True)
    except kubernetes_validate.ValidationError as problem:
        return str(problem.message)
    except kubernetes_validate.SchemaNotFoundError:
        return f"there is no {one['kind']} in {one['apiVersion']}"
    return ""


def _broken(one: Object, change: Callable[[Object], None]) -> Object:
    changed = copy.deepcopy(one)
    change(changed)
    return changed


def _misspelt(one: Object) -> None:
    one["spec"]["replica"] = one["spec"].pop("replicas")


def _replicas_in_words(one: Object) -> None:
    one["spec"]["replicas"] = "two"


def _no_most(one: Object) -> None:
    del one["spec"]["maxReplicas"]


def _port_in_a_list(one: Object) -> None:
    one["spec"]["ports"][0]["port"] = [8000]


def _of_no_version(one: Object) -> None:
    one["apiVersion"] = "apps/v9"


_BREAKS = {
    ("Deployment", "a misspelt field"): _misspelt,
    ("Deployment", "replicas in words"): _replicas_in_words,
    ("Deployment", "an unknown version"): _of_no_version,
    ("HorizontalPodAutoscaler", "no most replicas"): _no_most,
    ("Service", "a port that is a list"): _port_in_a_list,
}


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
