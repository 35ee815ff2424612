/* The map: shapes of the page drawn on a canvas, with pan, zoom and picking. */

/** An id that was made from the geometry tells a reader nothing. */
const MADE_ID = /^[a-z_]+-[0-9a-f]{10}$/;
const INK = "#1d2a33";
const LABEL_FONT = (weight) =>
  `${weight} 11.5px system-ui, "Segoe UI", "Liberation Sans", sans-serif`;
const HALO = "rgba(255,255,255,0.92)";

class ShapeMap {
  /** `options`: pick(i), only (a subject that the map is about), canvas, model. */
  constructor(canvas, model, options) {
    this.canvas = canvas;
    this.model = model;
    this.options = options || {};
    this.context = canvas.getContext("2d");
    this.selected = this.options.only === undefined ? -1 : this.options.only;
    this.hidden = new Set(model.layers.filter((l) => !l.shown).map((l) => l.name));
    this.pointers = new Map();
    this.hatches = new Map();
    this.view = { x: 0, y: 0, k: 1 };
    this.chunks = model.chunks || (model.chunks = makeChunks(model));
    this.listen();
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.resize();
  }

  // ---- where the map looks -------------------------------------------------

  resize() {
    const box = this.canvas.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) return;
    const first = !this.width;
    this.width = box.width;
    this.height = box.height;
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.canvas.width = Math.round(this.width * this.ratio);
    this.canvas.height = Math.round(this.height * this.ratio);
    if (first) this.fit();
    else this.draw();
  }

  fit() {
    const only = this.options.only;
    if (only !== undefined) this.show(only, 0.3);
    else this.look(this.model.extent || (this.model.extent = extentOf(this.model)), 0.03);
  }

  /** Look at a box of the grid with a margin around it. */
  look(box, margin) {
    if (!this.width || !box) return;
    const w = Math.max(box[2] - box[0], 1) * (1 + 2 * margin);
    const h = Math.max(box[3] - box[1], 1) * (1 + 2 * margin);
    this.view = {
      x: (box[0] + box[2]) / 2,
      y: (box[1] + box[3]) / 2,
      k: Math.min(this.width / w, this.height / h),
    };
    this.draw();
  }

  /** Look at one subject, with at least 120 ft around it. */
  show(i, margin) {
    const shape = this.model.shapes[i];
    if (!shape) return;
    const room = 120 / this.model.grid.step;
    const [a, b, c, d] = shape.box;
    this.look([a - room, b - room, c + room, d + room], margin || 0);
  }

  select(i, move) {
    this.selected = i;
    const shape = this.model.shapes[i];
    if (move && shape) this.show(i, 0.9);
    else this.draw();
  }

  toggle(name, on) {
    if (on) this.hidden.delete(name);
    else this.hidden.add(name);
    this.draw();
  }

  zoom(factor, px, py) {
    const x = px === undefined ? this.width / 2 : px;
    const y = py === undefined ? this.height / 2 : py;
    const [gx, gy] = this.ground(x, y);
    const step = this.model.grid.step;
    const k = Math.min(Math.max(this.view.k * factor, 0.0005 * step), 40 * step);
    this.view = { k, x: gx - (x - this.width / 2) / k, y: gy + (y - this.height / 2) / k };
    this.later();
  }

  pan(dx, dy) {
    this.view = {
      ...this.view,
      x: this.view.x - dx / this.view.k,
      y: this.view.y + dy / this.view.k,
    };
    this.later();
  }

  ground(px, py) {
    const { x, y, k } = this.view;
    return [x + (px - this.width / 2) / k, y - (py - this.height / 2) / k];
  }

  screen(gx, gy) {
    const { x, y, k } = this.view;
    return [(gx - x) * k + this.width / 2, this.height / 2 - (gy - y) * k];
  }

  // ---- drawing ---------------------------------------------------------------

  /** While the map moves, the last picture is shifted; the full one follows. */
  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (this.cost > 40 && this.last) this.shift();
      else this.draw();
    });
  }

  shift() {
    const c = this.context;
    const r = this.ratio;
    const { x, y, k } = this.last.view;
    const [left, top] = this.screen(x - this.width / 2 / k, y + this.height / 2 / k);
    const s = this.view.k / k;
    c.setTransform(r, 0, 0, r, 0, 0);
    c.fillStyle = "#fff";
    c.fillRect(0, 0, this.width, this.height);
    c.drawImage(this.last.picture, left, top, this.width * s, this.height * s);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.draw(), 140);
  }

  draw() {
    if (!this.width) return;
    clearTimeout(this.timer);
    const begun = performance.now();
    const c = this.context;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.fillStyle = "#fff";
    c.fillRect(0, 0, this.canvas.width, this.canvas.height);
    const [x0, y1] = this.ground(0, 0);
    const [x1, y0] = this.ground(this.width, this.height);
    this.box = [x0, y0, x1, y1];
    this.toGround();
    this.fillParcels();
    for (const layer of this.model.layers) if (!this.hidden.has(layer.name)) this.drawLayer(layer);
    this.lineParcels();
    this.drawFootprints();
    this.drawSelected();
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.labels = [];
    this.drawScale();
    this.drawContacts();
    this.drawLabels();
    this.cost = performance.now() - begun;
    if (this.cost > 40) this.keep();
    this.canvas.dataset.drawn = String(Number(this.canvas.dataset.drawn || 0) + 1);
  }

  keep() {
    const picture = document.createElement("canvas");
    picture.width = this.canvas.width;
    picture.height = this.canvas.height;
    picture.getContext("2d").drawImage(this.canvas, 0, 0);
    this.last = { picture, view: { ...this.view } };
  }

  toGround() {
    const { x, y, k } = this.view;
    const r = this.ratio;
    this.context.setTransform(
      r * k,
      0,
      0,
      -r * k,
      r * (this.width / 2 - x * k),
      r * (this.height / 2 + y * k),
    );
    this.px = 1 / k;
  }

  seen(box) {
    const b = this.box;
    return box[0] <= b[2] && box[2] >= b[0] && box[1] <= b[3] && box[3] >= b[1];
  }

  fillParcels() {
    const c = this.context;
    for (const chunk of this.chunks.parcels) {
      if (!this.seen(chunk.box)) continue;
      c.fillStyle = chunk.colour;
      c.globalAlpha = this.options.only === undefined ? 1 : 0.45;
      c.fill(chunk.path, "evenodd");
    }
    c.globalAlpha = 1;
  }

  lineParcels() {
    const size = this.chunks.size * this.view.k;
    if (size < 5) return;
    const c = this.context;
    c.strokeStyle = this.model.words.line;
    c.globalAlpha = Math.min(0.75, size / 40);
    c.lineWidth = this.px * (size > 60 ? 0.9 : 0.6);
    for (const chunk of this.chunks.parcels) if (this.seen(chunk.box)) c.stroke(chunk.path);
    c.globalAlpha = 1;
  }

  drawLayer(layer) {
    const c = this.context;
    const soft = ["floodplain", "soils", "indicators"].includes(layer.name);
    layer.paths = layer.paths || layer.shapes.map((shape) => shape && pathOf([shape]));
    for (let i = 0; i < layer.shapes.length; i += 1) {
      const shape = layer.shapes[i];
      if (!shape || !this.seen(shape.box)) continue;
      if (layer.fill && shape.dimension === 2) {
        c.globalAlpha = soft ? 0.5 : layer.hatch ? 0.75 : 0.92;
        c.fillStyle = layer.hatch ? this.hatch(layer.fill) : layer.fill;
        c.fill(layer.paths[i], "evenodd");
      }
      c.globalAlpha = 1;
      c.strokeStyle = layer.line;
      c.lineWidth =
        this.px * (shape.dimension === 1 ? 2.2 : layer.name === "municipality" ? 1.6 : 1);
      c.setLineDash(layer.dashed ? [5 * this.px, 3.5 * this.px] : []);
      c.stroke(layer.paths[i]);
      c.setLineDash([]);
    }
  }

  hatch(colour) {
    if (!this.hatches.has(colour)) {
      const tile = document.createElement("canvas");
      tile.width = tile.height = 14;
      const t = tile.getContext("2d");
      t.strokeStyle = colour;
      t.lineWidth = 1.3;
      for (const shift of [-14, 0, 14]) {
        t.moveTo(shift - 2, 16);
        t.lineTo(shift + 16, -2);
      }
      t.stroke();
      this.hatches.set(colour, this.context.createPattern(tile, "repeat"));
    }
    const pattern = this.hatches.get(colour);
    const m = this.context.getTransform();
    pattern.setTransform(m.inverse().scale(0.5 * this.ratio));
    return pattern;
  }

  drawFootprints() {
    const c = this.context;
    for (const { path, box } of this.chunks.footprints) {
      if (!this.seen(box)) continue;
      c.fillStyle = "rgba(29,42,51,0.28)";
      c.fill(path, "evenodd");
      c.strokeStyle = INK;
      c.lineWidth = this.px * 1.5;
      c.stroke(path);
    }
  }

  drawSelected() {
    const shape = this.model.shapes[this.selected];
    if (!shape) return;
    const c = this.context;
    const path = pathOf([shape]);
    c.lineJoin = "round";
    c.strokeStyle = HALO;
    c.lineWidth = 6.5 * this.px;
    c.stroke(path);
    c.strokeStyle = "#0f3f63";
    c.lineWidth = 3 * this.px;
    c.stroke(path);
    if (shape.dimension === 0) {
      const [x, y] = this.screen(shape.lines[0][0], shape.lines[0][1]);
      c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      c.beginPath();
      c.arc(x, y, 7, 0, 7);
      c.stroke();
      this.toGround();
    }
  }

  /** A text with a halo, unless it would lie on another one; the first drawn keep their place. */
  label(text, x, y, colour, weight) {
    const c = this.context;
    c.font = LABEL_FONT(weight || "500");
    const half = c.measureText(text).width / 2 + 3;
    const box = [x - half, y - 8, x + half, y + 8];
    const apart = (o) => o[0] > box[2] || o[2] < box[0] || o[1] > box[3] || o[3] < box[1];
    if (!this.labels.every(apart)) return;
    this.labels.push(box);
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.lineWidth = 3.5;
    c.lineJoin = "round";
    c.strokeStyle = HALO;
    c.strokeText(text, x, y);
    c.fillStyle = colour || INK;
    c.fillText(text, x, y);
  }

  drawLabels() {
    this.labelSubject(this.selected, "#0f3f63", "700");
    for (const layer of this.model.layers)
      if (layer.name === "wetlands" && !this.hidden.has(layer.name)) this.labelFeatures(layer);
    const room = this.chunks.size * this.view.k;
    if (room < 70) return;
    for (const i of this.chunks.near(this.box))
      if (this.model.subjects.kind[i] === 0) this.labelSubject(i, "#4b4740", "400");
  }

  labelSubject(i, colour, weight) {
    const shape = this.model.shapes[i];
    if (!shape || !this.seen(shape.box)) return;
    const id = this.model.subjects.id[i];
    const text = id.length > 22 ? id.slice(0, 21) + "…" : id;
    this.context.font = LABEL_FONT(weight);
    const wide = (shape.box[2] - shape.box[0]) * this.view.k;
    if (wide < this.context.measureText(text).width + 8) return;
    this.label(text, ...this.screen(...middleOf(shape)), colour, weight);
  }

  /** One label a feature, on its largest piece. */
  labelFeatures(layer) {
    if (!layer.largest) {
      const width = (i) => layer.shapes[i].box[2] - layer.shapes[i].box[0];
      layer.largest = new Map();
      layer.shapes.forEach((shape, i) => {
        const id = layer.ids[i];
        if (!shape || !id || (!layer.names[i] && MADE_ID.test(id))) return;
        if (!layer.largest.has(id) || width(i) > width(layer.largest.get(id)))
          layer.largest.set(id, i);
      });
    }
    for (const [id, i] of layer.largest) {
      const shape = layer.shapes[i];
      const wide = (shape.box[2] - shape.box[0]) * this.view.k;
      if (wide < 48 || wide > 3 * this.width || !this.seen(shape.box)) continue;
      this.label(
        (layer.names[i] || id).slice(0, 24),
        ...this.screen(...middleOf(shape)),
        layer.line,
        "600",
      );
    }
  }

  /** The shortest lines from the selected subject to wetlands and watercourses, with lengths. */
  drawContacts() {
    const rows = this.model.contactsOf[this.selected];
    if (!rows || (this.options.only === undefined && this.chunks.size * this.view.k < 24)) return;
    const c = this.context;
    const contacts = this.model.contacts;
    for (const row of rows) {
      const kind = this.model.coded(contacts.feature_kind, row);
      const shape =
        ["wetland", "watercourse"].includes(kind) && contacts.distance[row]
          ? unfold(contacts.lines[row])
          : null;
      if (!shape) continue;
      const xy = shape.lines[0];
      const [x0, y0] = this.screen(xy[0], xy[1]);
      const [x1, y1] = this.screen(xy[xy.length - 2], xy[xy.length - 1]);
      c.strokeStyle = INK;
      c.lineWidth = 1.3;
      c.setLineDash([4, 3]);
      c.beginPath();
      c.moveTo(x0, y0);
      c.lineTo(x1, y1);
      c.stroke();
      c.setLineDash([]);
      if (Math.hypot(x1 - x0, y1 - y0) > 26)
        this.label(
          number(contacts.distance[row], "ft") + " ft",
          (x0 + x1) / 2,
          (y0 + y1) / 2,
          INK,
          "600",
        );
    }
  }

  drawScale() {
    const c = this.context;
    const feet = (this.model.grid.step * 120) / this.view.k;
    const power = 10 ** Math.floor(Math.log10(feet));
    const nice = [5, 2, 1].find((n) => n * power <= feet) * power;
    const w = (nice / this.model.grid.step) * this.view.k;
    const x = 14;
    const y = this.height - 16;
    c.fillStyle = HALO;
    c.fillRect(x - 8, y - 22, w + 16, 32);
    c.strokeStyle = INK;
    c.lineWidth = 1.5;
    c.beginPath();
    c.moveTo(x, y - 5);
    c.lineTo(x, y);
    c.lineTo(x + w, y);
    c.lineTo(x + w, y - 5);
    c.stroke();
    this.label(`${nice.toLocaleString("en-US")} ft`, x + w / 2, y - 11, INK, "500");
    const n = this.width - 22;
    c.beginPath();
    c.moveTo(n, this.height - 42);
    c.lineTo(n + 6, this.height - 24);
    c.lineTo(n, this.height - 28);
    c.lineTo(n - 6, this.height - 24);
    c.closePath();
    c.fillStyle = INK;
    c.fill();
    this.label("N", n, this.height - 13, INK, "700");
  }

  // ---- picking and moving -----------------------------------------------------

  at(px, py) {
    const [x, y] = this.ground(px, py);
    const reach = 6 / this.view.k;
    let found = -1;
    for (const i of this.chunks.near([x - reach, y - reach, x + reach, y + reach])) {
      const shape = this.model.shapes[i];
      if (!holds(shape, x, y, reach)) continue;
      // a footprint lies on its parcel and is picked first, a project last
      const order = [1, 2, 0];
      const kinds = this.model.subjects.kind;
      if (found < 0 || order[kinds[i]] > order[kinds[found]]) found = i;
    }
    return found;
  }

  listen() {
    const canvas = this.canvas;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, place(event));
      this.moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const now = place(event);
      if (!this.pointers.has(event.pointerId)) {
        if (this.options.hover) this.options.hover(this.at(...now), now);
        return;
      }
      this.drag(event.pointerId, now);
    });
    const up = (event) => {
      const start = this.pointers.get(event.pointerId);
      this.pointers.delete(event.pointerId);
      canvas.classList.remove("dragging");
      if (event.type === "pointerup" && start && this.moved < 5 && this.options.pick) {
        const i = this.at(...place(event));
        if (i >= 0) this.options.pick(i);
      }
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => this.options.hover && this.options.hover(-1));
    canvas.addEventListener("dblclick", (event) => this.zoom(2, ...place(event)));
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (document.activeElement !== canvas && !event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), ...place(event));
      },
      { passive: false },
    );
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  drag(id, now) {
    const before = this.pointers.get(id);
    this.pointers.set(id, now);
    this.moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([key]) => key !== id)[1];
      const apart = (p) => Math.max(Math.hypot(p[0] - other[0], p[1] - other[1]), 1);
      this.zoom(apart(now) / apart(before), other[0], other[1]);
    } else if (this.moved >= 5) {
      this.canvas.classList.add("dragging");
      this.pan(now[0] - before[0], now[1] - before[1]);
    }
  }

  key(event) {
    const step = 60;
    const moves = {
      ArrowLeft: [step, 0],
      ArrowRight: [-step, 0],
      ArrowUp: [0, step],
      ArrowDown: [0, -step],
    };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (moves[event.key]) this.pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.5);
    else if (event.key === "-") this.zoom(1 / 1.5);
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
  }
}
