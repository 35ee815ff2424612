"""The public names are a list that is kept, and each says what it does, by an example too."""

from __future__ import annotations

import inspect

import pytest

import wetgis

FUNCTIONS = [
    "amend",
    "assess",
    "buffer_zone",
    "contacts",
    "delineate",
    "distance_to",
    "issues",
    "join_table",
    "list_packs",
    "load_pack",
    "open_run",
    "overlap_area",
    "read_layer",
    "read_site",
    "screen",
    "screen_to",
    "slope",
    "suggest_crs",
    "write_layer",
    "zonal",
]
CLASSES = ["Layer", "Pack", "Screening", "Site", "Slope", "WetgisError"]


def test_all_is_the_documented_list() -> None:
    assert sorted(wetgis.__all__) == sorted(["__version__", *FUNCTIONS, *CLASSES])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_documented(name: str) -> None:
    function = getattr(wetgis, name)
    assert inspect.isfunction(function)
    text = inspect.getdoc(function) or ""
    sections = ["Returns", "Examples"]
    if inspect.signature(function).parameters:
        sections.append("Parameters")
    lacking = [s for s in sections if f"\n{s}\n{'-' * len(s)}\n" not in text]
    assert not lacking, f"{name} has no section {lacking}"
    assert ">>> " in text, f"{name} has no example that runs"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_options_are_keywords(name: str) -> None:
    """Data first, at most three; everything else by its name; all annotated."""
    signature = inspect.signature(getattr(wetgis, name))
    kinds = [p.kind for p in signature.parameters.values()]
    assert kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD) <= 3
    assert signature.return_annotation is not inspect.Signature.empty
    assert all(p.annotation is not p.empty for p in signature.parameters.values())


@pytest.mark.parametrize("name", CLASSES)
def test_classes_are_documented(name: str) -> None:
    cls = getattr(wetgis, name)
    assert inspect.isclass(cls)
    assert len(inspect.getdoc(cls) or "") > 40


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        wetgis.nothing  # noqa: B018


def test_dir_lists_the_public_names() -> None:
    assert set(wetgis.__all__) <= set(dir(wetgis))
