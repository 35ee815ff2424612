# ruff: noqa: E501
"""A made-up town as the result of a screening, for the tests of the outputs.

The numbers are real overlays of the shapes below, so tables, maps and words agree;
nothing here goes through the engine.
"""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from wetgis.schema import (
    CHECKLIST_COLUMNS,
    CONTACT_COLUMNS,
    FINDING_COLUMNS,
    MEASURE_COLUMNS,
    NUMBER_COLUMNS,
    PART_COLUMNS,
)

CRS = "EPSG:2260"
ORIGIN = (717_000.0, 783_000.0)
ISSUE_COLUMNS = (
    "severity",
    "code",
    "layer",
    "file",
    "record_id",
    "message",
    "effect",
    "before_sqft",
    "after_sqft",
)
HOSTILE = "</script><img src=x onerror=alert(1)>"


def _warp(xy: np.ndarray, size: float) -> np.ndarray:
    """Bend a street grid so that it looks like a town and not like squared paper."""
    x, y = xy[..., 0], xy[..., 1]
    w = size / 2
    return np.stack(
        [
            x + 0.045 * size * np.sin(y / w * 2.1) + 0.01 * size * np.sin(x / w * 5),
            y + 0.05 * size * np.sin(x / w * 1.7 + 0.4) + 0.012 * size * np.cos(y / w * 4),
        ],
        axis=-1,
    )


def _lots(n: int) -> tuple[np.ndarray, float]:
    per_block, lot_w, lot_d, road = 8, 75.0, 125.0, 50.0
    blocks = int(np.ceil(n / (2 * per_block)))
    cols = max(1, int(np.ceil(np.sqrt(blocks * (2 * lot_d + road) / (per_block * lot_w + road)))))
    i = np.arange(n)
    block, within = i // (2 * per_block), i % (2 * per_block)
    side, k = within // per_block, within % per_block
    x0 = (block % cols) * (per_block * lot_w + road) + k * lot_w
    y0 = (block // cols) * (2 * lot_d + road) + side * lot_d
    t = np.array([[0, 0], [0.5, 0], [1, 0], [1, 0.5], [1, 1], [0.5, 1], [0, 1], [0, 0.5], [0, 0]])
    size = max(cols * (per_block * lot_w + road), float(y0.max()) + lot_d)
    corner = np.stack([x0, y0], -1)[:, None, :] + t[None] * np.array([lot_w, lot_d])
    return shapely.polygons(_warp(corner, size) + np.array(ORIGIN)), size


def _blob(rng: np.random.Generator, x: float, y: float, r: float) -> Any:
    a = np.linspace(0, 2 * np.pi, 72, endpoint=False)
    wave = sum(rng.uniform(-0.18, 0.18) * np.cos(k * a + rng.uniform(0, 6.3)) for k in range(1, 6))
    rad = r * (1 + wave)
    return shapely.Polygon(np.stack([x + rad * np.cos(a) * 1.3, y + rad * np.sin(a)], -1))


def _features(rng: np.random.Generator, size: float) -> tuple[gpd.GeoDataFrame, gpd.GeoDataFrame]:
    ox, oy = ORIGIN
    x = np.linspace(-0.05 * size, 1.05 * size, 400)
    y = 0.45 * size + 0.12 * size * np.sin(x / size * 5) + 25 * np.sin(x / 170)
    brook = shapely.LineString(np.stack([x + ox, y + oy], -1)).buffer(9, quad_segs=4)
    y2 = np.linspace(0.45 * size, 1.02 * size, 200)
    x2 = 0.3 * size + 0.05 * size * np.sin(y2 / size * 9) + 12 * np.sin(y2 / 120)
    branch = shapely.LineString(np.stack([x2 + ox, y2 + oy], -1)).buffer(4, quad_segs=4)
    n = max(3, int((size / 1300) ** 2))
    at = rng.uniform(0.05, 0.95, (n, 2)) * size
    at[: n // 2, 1] = 0.45 * size + 0.12 * size * np.sin(at[: n // 2, 0] / size * 5)
    blobs = [_blob(rng, ox + a, oy + b, rng.uniform(70, 220)) for a, b in at]
    wetlands = gpd.GeoDataFrame(
        {"id": [f"W-{i + 1:02d}" for i in range(n)], "name": "", "class": "PFO1E"},
        geometry=blobs,
        crs=CRS,
    )
    waters = gpd.GeoDataFrame(
        {
            "id": ["WC-01", "WC-02"],
            "name": ["Made-up Brook", "North Branch"],
            "class": ["perennial", "intermittent"],
        },
        geometry=[brook, branch.difference(brook)],
        crs=CRS,
    )
    return wetlands, waters


def _over(subjects: np.ndarray, zone: Any) -> tuple[np.ndarray, np.ndarray]:
    """The pieces of subjects inside one zone, and their areas."""
    pieces = np.full(len(subjects), None, dtype=object)
    shapely.prepare(zone)
    hit = shapely.intersects(zone, subjects)
    inside = hit & shapely.contains(zone, subjects)
    pieces[inside] = subjects[inside]
    cut = hit & ~inside
    pieces[cut] = shapely.intersection(subjects[cut], zone)
    area = np.where(hit, shapely.area(pieces), 0.0)
    pieces[~(area > 0)] = None
    return pieces, np.nan_to_num(area)


def _measures(
    kind: str, ids: list[str], geoms: np.ndarray, zones: dict[str, Any], dist: dict[str, Any]
) -> tuple[gpd.GeoDataFrame, gpd.GeoDataFrame]:
    n = len(ids)
    m: dict[str, Any] = {c: np.full(n, np.nan) for c in NUMBER_COLUMNS}
    m["area_sqft"] = shapely.area(geoms)
    rows = []
    rest = m["area_sqft"].copy()
    for place in ("wetland", "watercourse", "buffer"):
        pieces, area = _over(geoms, zones[place])
        m[f"{place}_sqft"] = area
        rest = rest - area
        on = np.flatnonzero(area > 0)
        rows += [(kind, ids[i], 1, place, area[i], np.nan, pieces[i]) for i in on]
    m["outside_sqft"], m["unmapped_sqft"], m["beyond_limit_sqft"] = rest, rest * 0, rest * 0
    cut = rest < m["area_sqft"]
    out = geoms.copy()
    out[cut] = shapely.difference(geoms[cut], zones["all"])
    rows += [(kind, ids[i], 1, "outside", rest[i], np.nan, out[i]) for i in range(n) if rest[i] > 0]
    m["regulated_sqft"] = m["wetland_sqft"] + m["watercourse_sqft"] + m["buffer_sqft"]
    m["hydric_sqft"] = _over(geoms, zones["hydric"])[1]
    m["hydric_weighted_sqft"], m["soil_unknown_sqft"] = m["hydric_sqft"] * 0.9, rest * 0
    m["floodplain_sqft"] = _over(geoms, zones["flood"])[1]
    m["floodway_sqft"], m["flood_unknown_sqft"] = m["floodplain_sqft"] * 0.2, rest * 0
    for name, zone in dist.items():
        shapely.prepare(zone)
        m[f"{name}_ft"] = shapely.distance(zone, geoms)
    m["indicator_ft"] = np.full(n, np.inf)
    on = (m["wetland_sqft"] > 0) | (m["watercourse_sqft"] > 0)
    status = np.where(on, "on_feature", np.where(m["buffer_sqft"] > 0, "in_buffer", "none_found"))
    indicated = (status == "none_found") & (m["hydric_sqft"] > 0)
    status = np.where(indicated, "indicator", status)
    frame = pd.DataFrame({"subject_kind": kind, "subject_id": ids, "record": 1}, index=range(n))
    frame["parcel_id"] = ids if kind == "parcel" else ""
    frame["project_id"] = ""
    frame["status"], frame["n_met"], frame["unknown_layers"] = status, 0, "steep"
    frame = pd.concat([frame, pd.DataFrame(m, index=frame.index)], axis=1)
    parts = gpd.GeoDataFrame(
        pd.DataFrame([r[:6] for r in rows], columns=list(PART_COLUMNS)),
        geometry=[r[6] for r in rows],
        crs=CRS,
    )
    return gpd.GeoDataFrame(frame[list(MEASURE_COLUMNS)], geometry=geoms, crs=CRS), parts


def _contacts(measures: gpd.GeoDataFrame, layers: dict[str, gpd.GeoDataFrame]) -> gpd.GeoDataFrame:
    tables = []
    for kind, frame in layers.items():
        tree = shapely.STRtree(frame.geometry.to_numpy())
        subjects = measures.geometry.to_numpy()
        i, j = tree.query(subjects, predicate="dwithin", distance=200.0)
        a, b = subjects[i], frame.geometry.to_numpy()[j]
        line = shapely.shortest_line(a, b)
        d = shapely.distance(a, b)
        line[d == 0] = shapely.LineString()
        t = measures.iloc[i][["subject_kind", "subject_id", "record"]].reset_index(drop=True)
        t["feature_kind"] = kind
        t["feature_id"] = frame["id"].to_numpy()[j]
        t["name"], t["class"] = frame["name"].to_numpy()[j], frame["class"].to_numpy()[j]
        t["source"], t["basis"] = "made_up.gpkg:layer", "city_map"
        t["distance_ft"], t["area_sqft"] = d, shapely.area(shapely.intersection(a, b))
        t["length_ft"], t["whole_sqft"] = 0.0, shapely.area(b)
        t["geometry"] = line
        tables.append(t)
    frame = pd.concat(tables, ignore_index=True)
    return gpd.GeoDataFrame(frame[[*CONTACT_COLUMNS, "geometry"]], geometry="geometry", crs=CRS)


def finding(**values: Any) -> dict[str, Any]:
    """One row of findings with everything that is not named left empty."""
    row: dict[str, Any] = dict.fromkeys(FINDING_COLUMNS, "")
    row.update(record=1, value=np.nan, threshold=np.nan, margin=np.nan)
    row.update(value_low=np.nan, value_high=np.nan, pack="rye-ny-195", cite_status="exact")
    row.update(values)
    return row


RULES = {
    "RYE-12": (
        "§ 195-4",
        "permit",
        "A regulated activity in a wetland, a watercourse or their buffer needs a written permit.",
    ),
    "RYE-02": ("§ 195-3", "inform", "A freshwater wetland of at least 12.4 acres is of class A."),
    "MON-26": (
        "§ 46-11A(3)",
        "show",
        "The map shows wetlands larger than 4,000 square feet on the site or within 100 feet of it.",
    ),
    "MON-10C": (
        "§ 46-3C",
        "permit",
        "The total of the site's disturbance decides whether a minor permit is needed.",
    ),
}


def _findings(measures: gpd.GeoDataFrame) -> pd.DataFrame:
    near = measures[np.minimum(measures["wetland_ft"], measures["watercourse_ft"]) <= 130]
    rows = []
    for m in near.itertuples():
        cite, severity, says = RULES["RYE-12"]
        base = {"subject_kind": m.subject_kind, "subject_id": m.subject_id}
        met = m.regulated_sqft > 0
        rows.append(
            finding(
                **base,
                rule="RYE-12",
                cite=cite,
                severity=severity,
                says=says,
                outcome="met" if met else "not_met",
                answer="may_be_subject" if met else "no_indicator_found",
                value=m.regulated_sqft,
                unit="sqft",
                comparison="gt",
                threshold=0.0,
                margin=m.regulated_sqft,
                value_low=max(0.0, m.regulated_sqft - 350),
                value_high=m.regulated_sqft + 350,
                doubt="accuracy" if m.regulated_sqft < 350 else "",
            )
        )
        cite, severity, says = RULES["MON-26"]
        rows.append(
            finding(
                **base,
                pack="monroe-ny-46",
                rule="MON-26",
                cite=cite,
                severity=severity,
                says=says,
                outcome="met" if m.wetland_ft <= 100 else "not_met",
                answer="must_be_shown" if m.wetland_ft <= 100 else "need_not_be_shown",
                feature_kind="wetland",
                feature_id="W-01",
                value=4000.0004 + m.wetland_sqft,
                unit="sqft",
                comparison="gt",
                threshold=4000.0,
                margin=0.0004 + m.wetland_sqft,
                value_low=3900.0,
                value_high=4100.0,
            )
        )
        cite, severity, says = RULES["MON-10C"]
        rows.append(
            finding(
                **base,
                pack="monroe-ny-46",
                rule="MON-10C",
                cite=cite,
                severity=severity,
                says=says,
                outcome="undetermined",
                answer="cannot_tell",
                value=m.regulated_sqft,
                unit="sqft",
                needs="parameter: 46-3C",
                cite_status="cited_only",
                note="The number stands in a section that the source does not give.",
            )
        )
    return pd.DataFrame(rows, columns=list(FINDING_COLUMNS))


def _issues() -> pd.DataFrame:
    nan = np.nan
    rows = [
        (
            "error",
            "null_geometry",
            "parcels",
            "parcels.gpkg",
            "091-12",
            "The record has no geometry.",
            "It keeps its row; nothing is measured.",
            nan,
            nan,
        ),
        (
            "note",
            "repaired",
            "wetlands",
            "wetlands.shp",
            "W-02",
            "The ring crosses itself; it was repaired.",
            "",
            41_250.25,
            41_198.5,
        ),
        (
            "warning",
            "extent_reached",
            "wetlands",
            "wetlands.shp",
            "",
            "41 subjects reach beyond the layer's bounding box.",
            "What lies beyond is not known.",
            nan,
            nan,
        ),
        (
            "note",
            "centreline",
            "watercourses",
            "brooks.gpkg",
            "WC-02",
            "A line without a half-width.",
            "Its buffer is understated.",
            nan,
            nan,
        ),
    ]
    return pd.DataFrame(rows, columns=list(ISSUE_COLUMNS))


def _provenance(title: str, measures: gpd.GeoDataFrame) -> dict[str, Any]:
    source = {
        "path": "wetlands.shp",
        "sha256": "ab" * 32,
        "layer": "wetlands",
        "driver": "ESRI Shapefile",
        "features": 12,
        "bounds": [0.0, 0.0, 1.0, 1.0],
        "crs": CRS,
    }
    return {
        "schema_version": 1,
        "versions": {"wetgis": "0.1.0", "GEOS": "3.14.1", "PROJ": "9.5.1"},
        "options": {
            "title": title,
            "crs": CRS,
            "as_of": "2026-11-30",
            "measure": {"buffer_ft": 100.0},
        },
        "facts": {},
        "overrides": [],
        "packs": [{"id": "rye-ny-195", "sha256": "cd" * 32, "as_of": "2026-11-30"}],
        "inputs": [source],
        "operations": [
            {
                "from": "EPSG:2263",
                "to": CRS,
                "definition": "+proj=noop",
                "accuracy_m": 0.0,
                "ballpark": False,
                "missing_grids": [],
            }
        ],
        "repairs": 1,
        "audit": {"worst_inside_ft": 0.004, "worst_outside_ft": 0.0},
        "counts": {"parcel": len(measures)},
        "run": {"started": "2026-11-30T12:00:00Z", "seconds": 1.5},
    }


@functools.cache
def town(n: int = 240, seed: int = 1, *, hostile: bool = False) -> SimpleNamespace:
    """A town of ``n`` parcels and a few footprints, with the fields of a ``Screening``.

    Made once for each call; copy it before changing it.
    """
    rng = np.random.default_rng(seed)
    geoms, size = _lots(n)
    wetlands, waters = _features(rng, size)
    wet, water = wetlands.union_all(), waters.union_all()
    ring = shapely.union(wet, water).buffer(100, quad_segs=84)
    zones = {
        "wetland": wet,
        "watercourse": water.difference(wet),
        "buffer": ring.difference(wet).difference(water),
        "all": ring,
        "hydric": shapely.union(wet, water).buffer(160, quad_segs=8),
        "flood": water.buffer(130, quad_segs=8),
    }
    dist = {
        "wetland": wet,
        "watercourse": water,
        "hydric": zones["hydric"],
        "floodplain": zones["flood"],
    }
    ids = [f"{i // 400 + 1:03d}.{i // 20 % 20:02d}-{i % 20 + 1}" for i in range(n)]
    if hostile:
        ids[0], ids[1] = HOSTILE, "=HYPERLINK(1)"
    measures, parts = _measures("parcel", ids, geoms, zones, dist)
    near = np.flatnonzero(measures["status"].isin(["on_feature", "in_buffer"]))[:6]
    centre = shapely.centroid(geoms[near])
    decks = shapely.box(
        shapely.get_x(centre) - 12,
        shapely.get_y(centre) - 8,
        shapely.get_x(centre) + 14,
        shapely.get_y(centre) + 11,
    )
    foot, foot_parts = _measures(
        "footprint", [f"F-{i + 1}" for i in range(len(near))], decks, zones, dist
    )
    foot["parcel_id"] = [ids[i] for i in near]
    measures = gpd.GeoDataFrame(pd.concat([measures, foot], ignore_index=True), crs=CRS)
    address = [f"{k % 97 + 1} Brook St" for k in range(len(measures))]
    address[5] = ""
    if hostile:
        address[0], address[2] = "@SUM(A1)", HOSTILE
    measures.insert(len(MEASURE_COLUMNS), "ADDRESS", address)
    findings = _findings(measures)
    met = findings[findings["outcome"] == "met"].groupby(["subject_kind", "subject_id"]).size()
    key = pd.MultiIndex.from_frame(measures[["subject_kind", "subject_id"]])
    measures["n_met"] = met.reindex(key).fillna(0).astype("int64").to_numpy()
    contacts = _contacts(measures, {"wetland": wetlands, "watercourse": waters})
    title = HOSTILE if hostile else "Made-up Brook"
    return SimpleNamespace(
        measures=measures,
        findings=findings,
        contacts=contacts,
        parts=gpd.GeoDataFrame(pd.concat([parts, foot_parts], ignore_index=True), crs=CRS),
        checklist=pd.DataFrame(
            [
                (
                    "rye-ny-195",
                    "RYE-13",
                    "The Naturalist's determination goes with other applications.",
                    "§ 195-4A(2)",
                ),
                ("monroe-ny-46", "MON-19", "Eight copies of the application form.", "§ 46-6"),
            ],
            columns=list(CHECKLIST_COLUMNS),
        ),
        issues=_issues(),
        provenance=_provenance(title, measures),
        layers={
            "wetlands": wetlands,
            "watercourses": waters,
            "buffer": gpd.GeoDataFrame({"id": ["buffer"]}, geometry=[zones["buffer"]], crs=CRS),
            "municipality": gpd.GeoDataFrame(
                {"id": ["town"]},
                geometry=[shapely.convex_hull(shapely.multipolygons(geoms)).buffer(150)],
                crs=CRS,
            ),
        },
        packs=(),
        title=title,
    )
