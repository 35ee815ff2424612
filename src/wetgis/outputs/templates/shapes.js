/* Shapes: paths to draw, boxes, middles, what holds a point, and pieces drawn in one stroke. */

function pathOf(shapes) {
  const path = new Path2D();
  for (const shape of shapes) {
    for (const xy of shape.lines) {
      path.moveTo(xy[0], xy[1]);
      for (let i = 2; i < xy.length; i += 2) path.lineTo(xy[i], xy[i + 1]);
      if (shape.dimension === 2) path.closePath();
    }
  }
  return path;
}

function joined(a, b) {
  return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])];
}

function extentOf(model) {
  const boxes = model.shapes.filter(Boolean).map((shape) => shape.box);
  for (const layer of boxes.length ? [] : model.layers)
    boxes.push(...layer.shapes.filter(Boolean).map((shape) => shape.box));
  return boxes.length ? boxes.reduce(joined) : [0, 0, 1000, 1000];
}

function middleOf(shape) {
  if (!shape.middle) {
    const xy = shape.lines.reduce((a, b) => (b.length > a.length ? b : a));
    let x = 0;
    let y = 0;
    let area = 0;
    for (let i = 0; i < xy.length; i += 2) {
      const j = (i + 2) % xy.length;
      const cross = xy[i] * xy[j + 1] - xy[j] * xy[i + 1];
      area += cross;
      x += (xy[i] + xy[j]) * cross;
      y += (xy[i + 1] + xy[j + 1]) * cross;
    }
    const b = shape.box;
    const boxed = [(b[0] + b[2]) / 2, (b[1] + b[3]) / 2];
    shape.middle = Math.abs(area) > 1 ? [x / (3 * area), y / (3 * area)] : boxed;
  }
  return shape.middle;
}

/** Whether a shape holds a point, or passes within reach of it where it has no area. */
function holds(shape, x, y, reach) {
  if (shape.dimension < 2) {
    const near = (xy, i, j) => {
      const dx = xy[j] - xy[i];
      const dy = xy[j + 1] - xy[i + 1];
      const t =
        dx || dy
          ? Math.max(
              0,
              Math.min(1, ((x - xy[i]) * dx + (y - xy[i + 1]) * dy) / (dx * dx + dy * dy)),
            )
          : 0;
      return Math.hypot(x - xy[i] - t * dx, y - xy[i + 1] - t * dy) <= reach;
    };
    return shape.lines.some((xy) => {
      if (xy.length === 2) return near(xy, 0, 0);
      for (let i = 0; i + 3 < xy.length; i += 2) if (near(xy, i, i + 2)) return true;
      return false;
    });
  }
  let inside = false;
  for (const xy of shape.lines) {
    for (let i = 0, j = xy.length - 2; i < xy.length; j = i, i += 2) {
      const above = xy[i + 1] > y !== xy[j + 1] > y;
      if (above && x < ((xy[j] - xy[i]) * (y - xy[i + 1])) / (xy[j + 1] - xy[i + 1]) + xy[i])
        inside = !inside;
    }
  }
  return inside;
}

/** Parcels in pieces that are drawn in one stroke, and a grid to find what lies at a point. */
function makeChunks(model) {
  const extent = extentOf(model);
  const n = Math.max(1, Math.min(48, Math.round(Math.sqrt(model.count / 12))));
  const cw = Math.max((extent[2] - extent[0]) / n, 1);
  const ch = Math.max((extent[3] - extent[1]) / n, 1);
  const cell = (v, low, size) => Math.max(0, Math.min(n - 1, Math.floor((v - low) / size)));
  const cells = Array.from({ length: n * n }, () => []);
  const groups = new Map();
  const footprints = [];
  const sizes = [];
  model.shapes.forEach((shape, i) => {
    if (!shape) return;
    const [a, b, c, d] = shape.box;
    for (let u = cell(a, extent[0], cw); u <= cell(c, extent[0], cw); u += 1)
      for (let v = cell(b, extent[1], ch); v <= cell(d, extent[1], ch); v += 1)
        cells[v * n + u].push(i);
    if (model.subjects.kind[i] !== 0) {
      if (model.subjects.kind[i] === 1) footprints.push({ path: pathOf([shape]), box: shape.box });
      return;
    }
    sizes.push(Math.sqrt(Math.max((c - a) * (d - b), 1)));
    const tile =
      Math.floor(cell((b + d) / 2, extent[1], ch) / 4) * n +
      Math.floor(cell((a + c) / 2, extent[0], cw) / 4);
    const key = model.subjects.status[i] * n * n + tile;
    if (!groups.has(key)) groups.set(key, { colour: model.status(i).colour, shapes: [] });
    groups.get(key).shapes.push(shape);
  });
  const parcels = [...groups.values()].map((group) => ({
    colour: group.colour,
    path: pathOf(group.shapes),
    box: group.shapes.map((s) => s.box).reduce(joined),
  }));
  sizes.sort((p, q) => p - q);
  const near = (box) => {
    const found = new Set();
    for (let u = cell(box[0], extent[0], cw); u <= cell(box[2], extent[0], cw); u += 1)
      for (let v = cell(box[1], extent[1], ch); v <= cell(box[3], extent[1], ch); v += 1)
        for (const i of cells[v * n + u]) found.add(i);
    return found;
  };
  return {
    parcels,
    footprints,
    near,
    size: sizes.length ? sizes[sizes.length >> 1] : 50 / model.grid.step,
  };
}
