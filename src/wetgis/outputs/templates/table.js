/* The table of subjects: search, filters, sorting, pages. */

const ROWS_PER_PAGE = 50;
const FIRST_NUMBERS = [
  "wetland_sqft",
  "watercourse_sqft",
  "buffer_sqft",
  "wetland_ft",
  "watercourse_ft",
  "area_sqft",
];

class SubjectTable {
  constructor(model, pick) {
    this.model = model;
    this.pick = pick;
    this.page = 0;
    this.selected = -1;
    this.sort = { key: "status", down: false };
    this.all = false;
    this.fillFilters();
    this.filter();
  }

  columns() {
    const m = this.model;
    const made = [
      {
        key: "status",
        head: "Status",
        order: (i) => m.subjects.status[i],
        cell: (i) => statusBadge(m.status(i), true),
      },
      { key: "id", head: "Id", order: (i) => m.rank[i], cell: (i) => this.idButton(i) },
    ];
    const kept = this.all ? m.keptNames : m.keptNames.slice(0, 1);
    for (const name of kept) {
      const text = (i) => m.coded(m.subjects.kept[name], i);
      made.push({ key: "kept:" + name, head: name, order: text, text: true, cell: text });
    }
    made.push({
      key: "met",
      head: "Met",
      unit: "conditions",
      number: true,
      order: (i) => m.subjects.met[i],
      cell: (i) => number(m.subjects.met[i]),
    });
    const known = Object.keys(m.subjects.numbers);
    const rest = known.filter((name) => !FIRST_NUMBERS.includes(name));
    for (const name of [
      ...FIRST_NUMBERS.filter((n) => known.includes(n)),
      ...(this.all ? rest : []),
    ]) {
      const { words, unit } = m.words.columns[name];
      const code = name.slice(name.lastIndexOf("_") + 1);
      const column = m.subjects.numbers[name];
      made.push({
        key: name,
        head: words,
        unit,
        number: true,
        order: (i) => column[i],
        cell: (i) => numberCell(column[i], code),
      });
    }
    return made;
  }

  idButton(i) {
    const s = this.model.subjects;
    const kind = this.model.kind(i);
    const record = s.record[i] > 1 ? ` (${s.record[i]})` : "";
    return el(
      "button",
      {
        type: "button",
        class: "link id",
        title: s.id[i].length > 24 ? s.id[i] : null,
        onclick: () => this.pick(i),
        "aria-label": this.model.label(i),
      },
      s.id[i] + record,
      kind === "parcel" ? null : el("span", { class: "kind" }, kind),
    );
  }

  fillFilters() {
    const m = this.model;
    const kinds = [0, 1, 2].filter((k) => m.subjects.kind.includes(k));
    const choose = byId("filter-kind");
    for (const k of kinds) choose.append(el("option", { value: k }, capital(m.words.kinds[k][1])));
    if (kinds.length < 2) choose.closest("label").hidden = true;
    const status = byId("filter-status");
    m.words.statuses.forEach((one, code) => {
      if (m.subjects.status.includes(code)) status.append(el("option", { value: code }, one.words));
    });
    const counts = new Map();
    const f = m.findings;
    f.subject.forEach((i, row) => {
      if (m.words.outcomes[f.outcome[row]].code === "not_met") return;
      const key = `${f.rule[row]}|${f.outcome[row]}`;
      if (!counts.has(key)) counts.set(key, new Set());
      counts.get(key).add(i);
    });
    this.byFinding = counts;
    const rule = byId("filter-rule");
    [...counts.keys()].sort().forEach((key) => {
      const [r, o] = key.split("|").map(Number);
      rule.append(
        el(
          "option",
          { value: key },
          `${f.rules[r].rule}: ${m.words.outcomes[o].words.toLowerCase()} (${counts.get(key).size.toLocaleString("en-US")})`,
        ),
      );
    });
    const listen = (id, type) => byId(id).addEventListener(type, () => this.filter());
    listen("search", "input");
    ["filter-kind", "filter-status", "filter-rule", "filter-doubt"].forEach((id) =>
      listen(id, "change"),
    );
    byId("all-columns").addEventListener("change", (event) => {
      this.all = event.target.checked;
      this.render();
    });
    byId("clear-filters").addEventListener("click", () => this.clear());
    byId("page-before").addEventListener("click", () => this.turn(-1));
    byId("page-after").addEventListener("click", () => this.turn(1));
  }

  clear() {
    for (const id of ["search", "filter-kind", "filter-status", "filter-rule"]) byId(id).value = "";
    byId("filter-doubt").checked = false;
    this.filter();
  }

  /** Set filters from elsewhere on the page. */
  only(values) {
    this.clear();
    for (const [id, value] of Object.entries(values)) byId(id).value = value;
    this.filter();
  }

  filter() {
    const m = this.model;
    const text = byId("search").value.trim().toLowerCase();
    const kind = byId("filter-kind").value;
    const status = byId("filter-status").value;
    const rule = byId("filter-rule").value;
    const doubt = byId("filter-doubt").checked;
    const having = rule ? this.byFinding.get(rule) : null;
    this.rows = [];
    for (let i = 0; i < m.count; i += 1) {
      if (kind !== "" && m.subjects.kind[i] !== Number(kind)) continue;
      if (status !== "" && m.subjects.status[i] !== Number(status)) continue;
      if (having && !having.has(i)) continue;
      if (doubt && !m.doubtful[i]) continue;
      if (text && !m.haystack(i).includes(text)) continue;
      this.rows.push(i);
    }
    this.page = 0;
    this.arrange();
  }

  arrange() {
    const column = this.columns().find((c) => c.key === this.sort.key) || this.columns()[0];
    const way = this.sort.down ? -1 : 1;
    const m = this.model;
    const value = (i) => {
      const v = column.order(i);
      return v === "inf" && !column.text ? Infinity : v;
    };
    this.rows.sort((a, b) => {
      const p = value(a);
      const q = value(b);
      const unknown = (v) => v === null || v === undefined || v === "";
      if (unknown(p) || unknown(q)) return unknown(p) - unknown(q) || m.rank[a] - m.rank[b];
      if (column.text) return way * m.collator.compare(p, q) || m.rank[a] - m.rank[b];
      if (p !== q) return way * (p < q ? -1 : 1);
      return (
        (column.key === "status" ? m.subjects.met[b] - m.subjects.met[a] : 0) ||
        m.rank[a] - m.rank[b]
      );
    });
    this.render();
  }

  sortBy(key) {
    const down =
      this.sort.key === key
        ? !this.sort.down
        : key !== "status" && key !== "id" && !key.endsWith("_ft") && !key.startsWith("kept:");
    this.sort = { key, down };
    this.page = 0;
    this.arrange();
    const button = document.querySelector(`#subjects th[aria-sort] button`);
    if (button) button.focus();
  }

  turn(by) {
    this.page += by;
    this.render();
    byId("table-scroll").scrollTop = 0;
  }

  /** Bring a subject's row into sight; filters that hide it are cleared. */
  reveal(i) {
    this.selected = i;
    let place = this.rows.indexOf(i);
    if (place < 0) {
      this.clear();
      place = this.rows.indexOf(i);
    }
    this.page = Math.floor(place / ROWS_PER_PAGE);
    this.render();
    const row = document.querySelector("#subjects tr[aria-current]");
    const box = byId("table-scroll");
    if (row) {
      const top = row.offsetTop - row.closest("table").tHead.offsetHeight;
      if (top < box.scrollTop || top + row.offsetHeight > box.scrollTop + box.clientHeight - 60)
        box.scrollTop = Math.max(0, top - box.clientHeight / 3);
    }
  }

  render() {
    const columns = this.columns();
    const pages = Math.max(1, Math.ceil(this.rows.length / ROWS_PER_PAGE));
    this.page = Math.max(0, Math.min(this.page, pages - 1));
    const shown = this.rows.slice(this.page * ROWS_PER_PAGE, (this.page + 1) * ROWS_PER_PAGE);
    const head = el(
      "tr",
      {},
      columns.map((c) => {
        const now = c.key === this.sort.key;
        const sorted = now ? (this.sort.down ? "descending" : "ascending") : null;
        const arrow = el(
          "span",
          { class: "arrow", "aria-hidden": "true" },
          now ? (this.sort.down ? "▼" : "▲") : "",
        );
        return el(
          "th",
          { scope: "col", class: c.number ? "number" : null, "aria-sort": sorted },
          el(
            "button",
            { type: "button", onclick: () => this.sortBy(c.key) },
            c.head,
            arrow,
            c.unit ? el("span", { class: "unit" }, c.unit) : null,
          ),
        );
      }),
    );
    const body = shown.map((i) =>
      el(
        "tr",
        {
          "aria-current": i === this.selected ? "true" : null,
          "data-row": i,
          onclick: (event) => event.target.closest("button") || this.pick(i),
        },
        columns.map((c) => el("td", { class: c.number ? "number" : null }, c.cell(i))),
      ),
    );
    byId("subjects").replaceChildren(
      el(
        "caption",
        { class: "unseen" },
        "Subjects with their status and measures. The buttons in the first row sort.",
      ),
      el("thead", {}, head),
      el(
        "tbody",
        {},
        body.length
          ? body
          : el("tr", {}, el("td", { colspan: columns.length, class: "none" }, "Nothing matches.")),
      ),
    );
    const n = this.rows.length.toLocaleString("en-US");
    byId("shown").textContent =
      this.rows.length === this.model.count
        ? `${n} listed`
        : `${n} of ${this.model.count.toLocaleString("en-US")} listed`;
    byId("page-number").textContent = `Page ${this.page + 1} of ${pages.toLocaleString("en-US")}`;
    byId("page-before").disabled = this.page === 0;
    byId("page-after").disabled = this.page >= pages - 1;
  }
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

function statusBadge(status, short) {
  const title = short ? status.words : null;
  return el(
    "span",
    { class: `badge status-${status.code}`, title },
    short ? status.short : status.words,
  );
}

function numberCell(value, unit) {
  if (value === null || value === undefined)
    return el("span", { class: "faint", title: "not known" }, "?");
  if (value === "inf") return el("span", { class: "faint" }, "none mapped");
  return number(value, unit);
}
