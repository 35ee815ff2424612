"""Styles as QGIS writes them (QML), as far as these layers need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import quoteattr

from wetgis.outputs.palette import LayerStyle

__all__ = ["categories", "mixed", "single"]

#: Geometry type as QGIS counts it, and as it names it in an expression.
_GEOMETRY = {"point": 0, "line": 1, "fill": 2}
_NAMES = {"point": "Point", "line": "Line", "fill": "Polygon"}


def single(style: LayerStyle, shape: str) -> str:
    """One symbol for a whole layer; ``shape`` is ``point``, ``line`` or ``fill``."""
    symbol = _symbol("0", style, shape)
    return _document(
        '<renderer-v2 type="singleSymbol" symbollevels="0">'
        f"<symbols>{symbol}</symbols></renderer-v2>",
        shape,
    )


def categories(
    column: str, styles: Mapping[str, LayerStyle], shape: str, *, opacity: float = 1.0
) -> str:
    """A symbol for each value of a column, in that order, with the styles' labels."""
    rows: list[str] = []
    symbols: list[str] = []
    for i, (value, style) in enumerate(styles.items()):
        rows.append(
            f'<category value={quoteattr(value)} symbol="{i}" '
            f'label={quoteattr(style.label)} render="true"/>'
        )
        symbols.append(_symbol(str(i), style, shape))
    renderer = (
        f'<renderer-v2 type="categorizedSymbol" attr={quoteattr(column)} symbollevels="0">'
        f"<categories>{''.join(rows)}</categories><symbols>{''.join(symbols)}</symbols>"
        "</renderer-v2>"
    )
    return _document(renderer, shape, opacity=opacity)


def mixed(styles: Mapping[str, LayerStyle], shapes: Sequence[str], column: str = "") -> str:
    """Rules for a layer with several kinds of geometry, which QGIS opens as one layer a kind.

    Parameters
    ----------
    styles : mapping of str to LayerStyle
        By value of the column; one entry where there is no column.
    shapes : sequence of {'point', 'line', 'fill'}
        The kinds that the layer holds.
    column : str, optional
        The column.
    """
    rules: list[str] = []
    symbols: list[str] = []
    for shape in shapes:
        for value, style in styles.items():
            asked = f"geometry_type($geometry) = '{_NAMES[shape]}'"
            if column:
                quoted = value.replace("'", "''")
                asked += f" AND \"{column}\" = '{quoted}'"
            number = len(symbols)
            rules.append(
                f'<rule key="r{number}" filter={quoteattr(asked)} symbol="{number}" '
                f"label={quoteattr(style.label)}/>"
            )
            symbols.append(_symbol(str(number), style, shape))
    return _document(
        f'<renderer-v2 type="RuleRenderer" symbollevels="0"><rules key="all">{"".join(rules)}'
        f"</rules><symbols>{''.join(symbols)}</symbols></renderer-v2>"
    )


def _document(renderer: str, shape: str = "", *, opacity: float = 1.0) -> str:
    """A style; one that names no kind of geometry fits all."""
    kind = f"<layerGeometryType>{_GEOMETRY[shape]}</layerGeometryType>" if shape else ""
    return (
        "<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>"
        '<qgis version="3.22.16" styleCategories="Symbology">'
        f"{renderer}<blendMode>0</blendMode><featureBlendMode>0</featureBlendMode>"
        f"<layerOpacity>{opacity:g}</layerOpacity>"
        f"{kind}</qgis>"
    )


def _symbol(name: str, style: LayerStyle, shape: str) -> str:
    kind = {"point": "marker"}.get(shape, shape)
    layers = {"point": _marker, "line": _line, "fill": _fill}[shape](style)
    return (
        f'<symbol type="{kind}" name="{name}" alpha="1" clip_to_extent="1">'
        f"{''.join(layers)}</symbol>"
    )


def _layer(kind: str, properties: Mapping[str, str], inner: str = "") -> str:
    props = "".join(f'<prop k="{k}" v={quoteattr(v)}/>' for k, v in properties.items())
    return f'<layer class="{kind}" enabled="1" locked="0" pass="0">{props}{inner}</layer>'


def _marker(style: LayerStyle) -> Sequence[str]:
    return [
        _layer(
            "SimpleMarker",
            {
                "name": "circle",
                "size": "2.4",
                "size_unit": "MM",
                "color": _rgba(style.fill or style.line),
                "outline_color": _rgba(style.line),
                "outline_width": f"{style.width:g}",
            },
        )
    ]


def _line(style: LayerStyle) -> Sequence[str]:
    return [
        _layer(
            "SimpleLine",
            {
                "line_color": _rgba(style.line),
                "line_width": f"{style.width:g}",
                "line_width_unit": "MM",
                "line_style": "dash" if style.dashed else "solid",
                "joinstyle": "round",
                "capstyle": "round",
            },
        )
    ]


def _fill(style: LayerStyle) -> Sequence[str]:
    outline = {
        "outline_color": _rgba(style.line),
        "outline_width": f"{style.width:g}",
        "outline_width_unit": "MM",
        "outline_style": "dash" if style.dashed else "solid",
        "joinstyle": "round",
    }
    if not style.fill:
        return [_layer("SimpleFill", {"style": "no", "color": "0,0,0,0", **outline})]
    if not style.hatch:
        return [_layer("SimpleFill", {"style": "solid", "color": _rgba(style.fill), **outline})]
    line = LayerStyle("", "", style.fill, 0.18)
    hatch = {"angle": "45", "distance": "1.6", "distance_unit": "MM", "color": _rgba(style.fill)}
    inner = (
        f'<symbol type="line" name="@0@0" alpha="1" clip_to_extent="1">{_line(line)[0]}</symbol>'
    )
    return [
        _layer("LinePatternFill", {**hatch, "line_width": "0.18"}, inner),
        _layer("SimpleFill", {"style": "no", "color": "0,0,0,0", **outline}),
    ]


def _rgba(colour: str) -> str:
    """A colour as QGIS writes it.

    Examples
    --------
    >>> _rgba("#5b97c9")
    '91,151,201,255'
    """
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"{red},{green},{blue},255"
