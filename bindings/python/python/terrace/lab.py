"""Outcomes of `terrace lab run` as rows, for data frames.

    import pandas, terrace.lab

    phases = pandas.DataFrame(terrace.lab.phases("lab-results"))
    phases.pivot(index="phase", columns="system", values="write_amplification.total")
    samples = pandas.DataFrame(terrace.lab.samples("lab-results"))

Metrics have the names of `terrace lab run --csv` and `--samples`. A row has those of its own run: a
data frame leaves the others empty. `polars` and other libraries take the same rows.
"""

import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

Row = dict[str, Any]

# Columns that say which run a row is of.
_RUN = ("experiment", "system", "variant", "phase", "scale", "seed")

# The version of the files of outcomes that this module knows.
_VERSION = 2


def phases(directory: str | PathLike[str] = "lab-results") -> list[Row]:
    """A row to each phase of the runs whose outcomes are kept in a directory (`--results`)."""
    return [_run(outcome) | dict(_numbers("", outcome)) for outcome in _outcomes(directory)]


def samples(directory: str | PathLike[str] = "lab-results") -> list[Row]:
    """A row to each sample of these runs, in the order of virtual time."""
    return [
        _run(outcome)
        | {"seconds": sample["seconds"], "operations": sample["operations"]}
        | sample["values"]
        for outcome in _outcomes(directory)
        for sample in outcome["samples"]
    ]


def _outcomes(directory: str | PathLike[str]) -> Iterator[Row]:
    for path in sorted(Path(directory).glob("*/*.json")):
        kept = json.loads(path.read_text())
        if kept.get("version") != _VERSION:
            found = kept.get("version")
            raise ValueError(f"{path}: expected an outcome of version {_VERSION}, found {found}")
        yield kept["outcome"]


def _run(outcome: Row) -> Row:
    return {name: outcome.get(name) for name in _RUN}


def _numbers(prefix: str, values: Row) -> Iterator[tuple[str, float | int]]:
    """The numbers in nested objects, with dots between the names. Lists are left out."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _numbers(f"{prefix}{name}.", value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield prefix + name, value
