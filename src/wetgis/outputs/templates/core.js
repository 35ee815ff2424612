/* Numbers, elements, and the data of the page. Text from files only ever becomes text nodes. */

const NOISE = { sqft: 1e-4, ft: 1e-6, pct: 1e-3 };

/** A number as a reader sees it; one that differs from its threshold never looks equal to it. */
function number(value, unit, against) {
  if (value === null || value === undefined) return "not known";
  if (value === "inf") return "none mapped";
  let decimals = { sqft: Math.abs(value) >= 100 ? 0 : 1, ft: 2, pct: 1, ratio: 3 }[unit] || 0;
  if (!(unit in NOISE) && !Number.isInteger(value)) decimals = Math.max(decimals, 2);
  for (const rival of [0, against]) {
    if (typeof rival !== "number" || Math.abs(value - rival) <= (NOISE[unit] || 0)) continue;
    while (decimals < 8 && Number(value.toFixed(decimals)) === Number(rival.toFixed(decimals)))
      decimals += 1;
  }
  const [whole, part] = value.toFixed(decimals).split(".");
  let text = whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? "." + part : "");
  if (unit !== "ft" && text.includes(".")) text = text.replace(/0+$/, "").replace(/\.$/, "");
  return Number(text.replaceAll(",", "")) === 0 ? "0" : text;
}

function withUnit(value, unit, against) {
  const text = number(value, unit, against);
  if (typeof value !== "number") return text;
  if (unit === "usd") return "$" + text;
  if (unit === "pct") return text + "%";
  const words = { sqft: "sq ft", ft: "ft", days: "days" }[unit];
  return words ? text + " " + words : text;
}

/** An element; children are nodes or become text. */
function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

const byId = (id) => document.getElementById(id);

/** The data of the page; packed where the page would be large otherwise. */
async function readData() {
  const script = byId("data");
  if (script.dataset.packed !== "gzip") return JSON.parse(script.textContent);
  const bytes = Uint8Array.from(atob(script.textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** Shapes as they are drawn: rings or lines of absolute grid numbers, and the box around them. */
function unfold(shape) {
  if (!shape) return null;
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  const lines = shape.slice(1).map((numbers) => {
    const xy = new Float64Array(numbers.length);
    let x = 0;
    let y = 0;
    for (let i = 0; i < numbers.length; i += 2) {
      x += numbers[i];
      y += numbers[i + 1];
      xy[i] = x;
      xy[i + 1] = y;
      if (x < box[0]) box[0] = x;
      if (y < box[1]) box[1] = y;
      if (x > box[2]) box[2] = x;
      if (y > box[3]) box[3] = y;
    }
    return xy;
  });
  return { dimension: shape[0], lines, box };
}

/** Everything about the subjects, with the questions that table, map and sheet ask. */
class Model {
  constructor(data) {
    const s = data.subjects;
    this.words = data.words;
    this.grid = data.grid;
    this.layers = data.layers.map((layer) => ({ ...layer, shapes: layer.shapes.map(unfold) }));
    this.subjects = s;
    this.count = s.id.length;
    this.shapes = s.shapes.map(unfold);
    this.contacts = data.contacts;
    this.findings = data.findings;
    this.keptNames = Object.keys(s.kept);
    this.findingsOf = this.group(data.findings.subject);
    this.contactsOf = this.group(data.contacts.subject);
    this.doubtful = new Uint8Array(this.count);
    data.findings.subject.forEach((i, row) => {
      if (data.findings.doubt.of[data.findings.doubt.at[row]] !== "") this.doubtful[i] = 1;
    });
    const collator = new Intl.Collator("en", { numeric: true });
    const order = Array.from({ length: this.count }, (_, i) => i).sort(
      (a, b) =>
        s.kind[a] - s.kind[b] || collator.compare(s.id[a], s.id[b]) || s.record[a] - s.record[b],
    );
    this.rank = new Uint32Array(this.count);
    order.forEach((i, place) => (this.rank[i] = place));
    this.collator = collator;
  }

  group(owners) {
    const rows = Array.from({ length: this.count }, () => null);
    owners.forEach((i, row) => (rows[i] ? rows[i].push(row) : (rows[i] = [row])));
    return rows;
  }

  coded(column, row) {
    return column.of[column.at[row]];
  }

  kind(i) {
    return this.words.kinds[this.subjects.kind[i]][0];
  }

  label(i) {
    const s = this.subjects;
    const kind = this.kind(i);
    const record = s.record[i] > 1 ? ` (record ${s.record[i]})` : "";
    return `${kind[0].toUpperCase()}${kind.slice(1)} ${s.id[i]}${record}`;
  }

  status(i) {
    return this.words.statuses[this.subjects.status[i]] || this.words.statuses[4];
  }

  value(name, i) {
    const column = this.subjects.numbers[name];
    return column ? column[i] : null;
  }

  /** A text to search in, made once. */
  haystack(i) {
    this.haystacks = this.haystacks || [];
    if (this.haystacks[i] === undefined) {
      const kept = this.keptNames.map((name) => this.coded(this.subjects.kept[name], i));
      this.haystacks[i] = [this.subjects.id[i], ...kept].join("\n").toLowerCase();
    }
    return this.haystacks[i];
  }

  find(kind, id, record) {
    const s = this.subjects;
    for (let i = 0; i < this.count; i += 1)
      if (s.id[i] === id && this.kind(i) === kind && s.record[i] === record) return i;
    return -1;
  }

  address(i) {
    const s = this.subjects;
    return `#subject=${this.kind(i)}/${encodeURIComponent(s.id[i])}/${s.record[i]}`;
  }
}
