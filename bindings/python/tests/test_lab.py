"""Outcomes of the lab as rows."""

import json

import pytest

import terrace.lab

RUN = {"experiment": "geardb/fig3", "system": "geardb", "variant": None, "phase": "fillrandom"}
OUTCOME = RUN | {
    "scale": "1/256",
    "seed": 1,
    "kv_per_second": 2564.5,
    "write_amplification": {"total": 7.96, "log": 0},
    "held_by_level": {"0": 0.25},
    "merges": [0.5, 0.25],
    "samples": [
        {"seconds": 1.5, "operations": 10, "values": {"runs": 3.0}},
        {"seconds": 3.0, "operations": 20, "values": {"runs": 4.0}},
    ],
}


def keep(directory, name, kept):
    (directory / "drive").mkdir(exist_ok=True)
    (directory / "drive" / f"{name}.json").write_text(json.dumps(kept))


def test_a_phase_is_a_row_and_a_sample_is_a_row(tmp_path):
    assert terrace.lab.phases(tmp_path) == []
    for name, phase in (("b", "read"), ("a", "fillrandom")):
        keep(tmp_path, name, {"version": 2, "plan": {}, "outcome": OUTCOME | {"phase": phase}})
    fill, read = terrace.lab.phases(tmp_path)
    assert (fill["phase"], read["phase"]) == ("fillrandom", "read"), "in the order of names"
    assert fill == RUN | {
        "scale": "1/256",
        "seed": 1,
        "kv_per_second": 2564.5,
        "write_amplification.total": 7.96,
        "write_amplification.log": 0,
        "held_by_level.0": 0.25,
    }
    samples = terrace.lab.samples(tmp_path)
    assert [sample["phase"] for sample in samples] == ["fillrandom"] * 2 + ["read"] * 2
    assert samples[1]["seconds"] == 3.0 and samples[1]["runs"] == 4.0
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.Table.from_pylist(samples).column("operations").to_pylist() == [10, 20, 10, 20]


def test_an_outcome_of_another_version_is_refused(tmp_path):
    keep(tmp_path, "a", {"version": 3})
    with pytest.raises(ValueError, match="a.json: expected an outcome of version 2, found 3"):
        terrace.lab.phases(tmp_path)
