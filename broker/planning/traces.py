"""Traces that a workloads file names: read, profiled, and put into the data of the file.

    traffic: {trace: requests.csv}

becomes the curve and the sizes that the log has, beside the log's name and hash, so that a plan
holds all that it was made from. Sizes that the file gives itself are kept.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from broker.domain.errors import ConfigurationError
from broker.domain.load_profile import LoadProfile
from broker.domain.workload import Workloads

_Service = Mapping[str, object]


def with_traces(data: Mapping[str, object], folder: Path | None, name: str) -> Mapping[str, object]:
    """Read each trace that is not read yet; `name` stands in the messages.

    Raises:
        ConfigurationError: a trace cannot be read, is not the one that was meant, has no sizes
            where the file gives none, or there is no folder to read it from.
    """
    services = data.get("services")
    if not isinstance(services, list):
        return data
    read = [
        _with_trace(one, folder, f"{name}: services[{number}]")
        for number, one in enumerate(services)
    ]
    return {**data, "services": read}


def trace_warnings(workloads: Workloads) -> Iterator[str]:
    """Tell what the traces of the services could not tell."""
    for service in workloads.services:
        for note in service.traffic.trace_read.notes if service.traffic.trace_read else ():
            yield f"{service.name}: of {service.traffic.trace}: {note}"


def _with_trace(service: object, folder: Path | None, where: str) -> object:
    """Read the trace of one service; whatever else is wrong with it is said by its class."""
    traffic = service.get("traffic") if isinstance(service, Mapping) else None
    if not (isinstance(service, Mapping) and isinstance(traffic, Mapping)):
        return service
    trace = traffic.get("trace")
    if not isinstance(trace, str) or "requests_per_s" in traffic:
        return service
    if folder is None:
        raise ConfigurationError(
            f"{where}.traffic.trace: {trace!r} is read beside the file, and there is none",
            hint="write the curve that `gpubroker profile` makes of it",
        )
    profile = _profile(folder / _path(trace, where), f"{where}.traffic.trace")
    _check_same(traffic, profile, f"{where}.traffic.trace")
    return _filled(service, trace, profile, where)


def _path(trace: str, where: str) -> Path:
    try:
        if "\0" not in trace:
            return Path(trace).expanduser()
    except RuntimeError:  # the home folder of nobody
        pass
    raise ConfigurationError(
        f"{where}.traffic.trace: {trace!r} is no path",
        hint="write it out, from / or from the file on",
    )


def _profile(path: Path, where: str) -> LoadProfile:
    # Imported here: most workloads files have no trace.
    from broker.planning.profiling.options import ProfileOptions  # noqa: PLC0415 - see above
    from broker.planning.profiling.profiler import profile_file  # noqa: PLC0415 - see above

    try:
        return profile_file(path, ProfileOptions())
    except ConfigurationError as cause:
        hint = cause.hint
        if "--" in hint:
            hint = f"`gpubroker profile` makes a curve of it, with options that say how: {hint}"
        raise ConfigurationError(f"{where}: {cause}", hint=hint) from cause


def _check_same(traffic: Mapping[object, object], profile: LoadProfile, where: str) -> None:
    """Hold the log to the hash that the file may give of it."""
    read = traffic.get("trace_read")
    wanted = read.get("sha256") if isinstance(read, Mapping) else None
    if wanted is not None and wanted != profile.sha256:
        raise ConfigurationError(
            f"{where}: {profile.source!r} is another file than the one with the hash {wanted!r}",
            hint="take the old file, or take trace_read out of the workloads file",
        )


def _filled(
    service: Mapping[object, object], trace: str, profile: LoadProfile, where: str
) -> Mapping[object, object]:
    filled = {
        "requests_per_s": profile.curve.model_dump(),
        "trace": trace,
        "trace_read": {"sha256": profile.sha256, "notes": profile.notes},
    }
    if "sizes" in service:
        return {**service, "traffic": filled}
    if not profile.classes:
        raise ConfigurationError(
            f"{where}.sizes: this key is missing, and {profile.source!r} has rates alone",
            hint="write the size classes: [{input_tokens: 1000, output_tokens: 300}]",
        )
    sizes = [one.size.model_dump() for one in profile.classes]
    return {**service, "traffic": filled, "sizes": sizes}
