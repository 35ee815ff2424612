"""The command line itself: help, exit codes, messages, the environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wetgis.cli import shell
from wetgis.errors import InputError


def test_help_is_quick_and_lists_the_verbs() -> None:
    begun = time.perf_counter()
    ran = subprocess.run(
        [sys.executable, "-m", "wetgis", "--help"], capture_output=True, text=True, check=True
    )
    assert time.perf_counter() - begun < 1.0
    for verb in ("screen", "assess", "demo", "packs", "doctor", "init", "verify", "diff"):
        assert f"  {verb} " in ran.stdout


def test_version(cli: Callable[..., Any]) -> None:
    ran = cli("--version")
    assert (ran.code, ran.out) == (0, "wetgis 0.1.0\n")


@pytest.mark.parametrize("args", [["nothing"], ["buffer"], ["screen", "--sideways"]])
def test_wrong_usage_is_2(cli: Callable[..., Any], args: list[str]) -> None:
    ran = cli(*args)
    assert ran.code == 2
    assert ran.out == ""
    assert "Error:" in ran.err


def test_a_bare_number_is_no_distance(cli: Callable[..., Any]) -> None:
    ran = cli("buffer", "in.gpkg", "out.gpkg", "--distance", "100")
    assert ran.code == 2
    assert "a number and its unit, as 100ft or 30m" in ran.err


def test_an_error_is_one_message(cli: Callable[..., Any], tmp_path: Path) -> None:
    ran = cli("verify", tmp_path)
    assert ran.code == 1
    assert ran.out == ""
    assert ran.err.splitlines() == [
        f"error: {tmp_path}: there is no run.json in this folder.",
        "  needed: the folder that a screening, an assessment or an amendment was written to",
    ]


def raising(error: BaseException) -> Callable[[], int]:
    def run() -> int:
        raise error

    return run


def guarded(error: BaseException) -> int:
    import typer

    with pytest.raises(typer.Exit) as stop:
        shell.verb(raising(error))()
    return stop.value.exit_code


def test_what_nobody_expected_leaves_its_traceback_in_run_log(
    cli: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.start()
    shell.log_into(tmp_path / "out")
    assert guarded(ZeroDivisionError("by zero")) == 1
    shell.finish()
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert "ZeroDivisionError: by zero" in said
    assert str(tmp_path / "out" / "run.log") in said
    log = (tmp_path / "out" / "run.log").read_text("utf-8")
    assert "Traceback (most recent call last)" in log
    assert "Traceback" not in said


def test_the_traceback_has_a_place_without_a_folder_too(
    cli: Callable[..., Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shell.start()
    assert guarded(KeyError("x")) == 1
    (written,) = tmp_path.glob("wetgis-*.log")
    assert "KeyError" in written.read_text("utf-8")
    assert str(written) in capsys.readouterr().err


def test_stopped_by_the_user_is_130(cli: Callable[..., Any]) -> None:
    shell.start()
    assert guarded(KeyboardInterrupt()) == 130


def test_error_text_has_a_line_a_part() -> None:
    error = InputError("it is empty.", needed="records", mend="export it again", where="a.gpkg")
    assert shell.error_text(error).splitlines() == [
        "a.gpkg: it is empty.",
        "  needed: records",
        "  to mend it: export it again",
    ]


@pytest.mark.parametrize("name", ["PROJ_DATA", "PROJ_LIB", "GDAL_DATA"])
def test_foreign_data_folders_are_dropped(name: str, tmp_path: Path) -> None:
    """A database of another PROJ would break rasterio: the verb works, and says what it dropped."""
    env = {**os.environ, name: str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-m", "wetgis", "doctor", "--json"],
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    assert f"warning: {name}={tmp_path} belongs to another program" in ran.stderr
    tried = {row["name"]: row for row in json.loads(ran.stdout)["tried"]}
    assert tried["GDAL and PROJ (rasterio)"]["ok"], tried
    assert tried["PROJ (pyproj)"]["ok"], tried


def test_nothing_is_dropped_where_nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in shell.DATA_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert shell.clean_environment() == {}


def test_json_has_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    import numpy as np

    shell.print_json({"a": float("nan"), "b": [np.float64("inf"), np.int64(3)], "c": Path("x")})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [None, 3], "c": "x"}


def test_doctor(cli: Callable[..., Any]) -> None:
    ran = cli("doctor")
    assert ran.code == 0, ran.out
    assert ran.out.count("ok ") == len(ran.out.splitlines())
    assert "GDAL" in ran.out
    assert "GEOS" in ran.out


def test_doctor_says_what_is_broken(
    cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    import shapely

    monkeypatch.setattr(shapely, "area", lambda _: 95.0)
    ran = cli("doctor")
    assert ran.code == 1
    assert "BAD  GEOS (shapely)" in ran.out


def test_init_writes_a_site_that_parses(cli: Callable[..., Any], tmp_path: Path) -> None:
    ran = cli("init", tmp_path / "town")
    path = tmp_path / "town" / "site.toml"
    assert (ran.code, ran.out.strip()) == (0, str(path))
    assert tomllib.loads(path.read_text("utf-8"))["layers"]["parcels"]["path"] == "parcels.gpkg"
    again = cli("init", tmp_path / "town")
    assert again.code == 1
    assert "was left alone" in again.err


def test_the_template_names_every_key() -> None:
    from wetgis.schema import KINDS
    from wetgis.siteconfig import MeasureKeys, OverrideKeys, RasterKeys, SiteKeys
    from wetgis.sources.keys import LayerKeys

    text = (Path(shell.__file__).parent / "templates" / "site.toml").read_text("utf-8")
    models = (SiteKeys, MeasureKeys, OverrideKeys, LayerKeys, RasterKeys)
    names = {name for model in models for name in model.model_fields} | set(KINDS)
    assert {n for n in names if n not in text} == set()


def test_the_template_is_right_key_by_key(tmp_path: Path) -> None:
    """With every choice uncommented it is still a site: no key of it is misspelt."""
    import re

    from wetgis.siteconfig import RasterKeys, checked, is_raster, site_keys
    from wetgis.sources.keys import LayerKeys

    text = (Path(shell.__file__).parent / "templates" / "site.toml").read_text("utf-8")
    lines = [re.sub(r"^# (?=[a-z_]+ = |\[)", "", line) for line in text.splitlines()]
    lines.remove("packs = []")
    data = tomllib.loads("\n".join(lines))
    layers = data.pop("layers")
    assert site_keys(data, where="").packs == ["rye-ny-195"]
    for kind, keys in layers.items():
        checked(RasterKeys if is_raster(kind) else LayerKeys, keys, place=kind, where="")
    assert len(layers) > 7
