/* The sheet of one subject: map, measures, findings with citations and doubts, contacts. */

const isDistance = (name) => name.endsWith("_ft") && !name.endsWith("length_ft");
const PLACES = ["wetland", "watercourse", "buffer", "outside", "unmapped", "beyond_limit"];
class Sheet {
  constructor(model, pick, showOnMap) {
    this.model = model;
    this.pick = pick;
    this.showOnMap = showOnMap;
    this.box = byId("sheet-body");
  }

  open(i) {
    const m = this.model;
    byId("sheet-empty").hidden = true;
    const canvas = el("canvas", {
      tabindex: "0",
      role: "application",
      "aria-label": `Map of ${m.label(i)}. Arrow keys move it, plus and minus zoom, 0 shows all of it.`,
    });
    const parts = [
      el(
        "div",
        { class: "sheet-head" },
        el("h3", { id: "sheet-title", tabindex: "-1" }, m.label(i)),
        statusBadge(m.status(i)),
        el(
          "span",
          { class: "buttons noprint" },
          el("button", { type: "button", onclick: () => this.showOnMap(i) }, "Show on the map"),
          el("button", { type: "button", onclick: printSheet }, "Print this sheet"),
        ),
      ),
      el("p", { class: "sheet-lead" }, m.status(i).means, this.unknown(i)),
      this.related(i),
      el(
        "div",
        { class: "sheet-grid" },
        el(
          "div",
          {},
          el(
            "figure",
            { class: "map" },
            canvas,
            el(
              "figcaption",
              {},
              "Outlined: the subject. Dashed lines: the shortest way to each wetland and watercourse nearby.",
            ),
          ),
          this.distances(i),
        ),
        el("div", {}, this.places(i), this.measures(i)),
      ),
      this.findings(i),
      this.contacts(i),
    ];
    this.box.replaceChildren(...parts.filter(Boolean));
    if (m.shapes[i]) this.map = new ShapeMap(canvas, m, { only: i, pick: this.pick });
    else
      canvas
        .closest("figure")
        .replaceChildren(el("p", { class: "none" }, "There is no shape to draw."));
  }

  unknown(i) {
    const layers = this.model.coded(this.model.subjects.unknown, i);
    return layers ? ` Not known here: ${layers.split(/[;,]\s*/).join(", ")}.` : null;
  }

  /** The parcel of a footprint, the footprints of a parcel, kept columns. */
  related(i) {
    const m = this.model;
    const s = m.subjects;
    const lines = [];
    const linked = (j) =>
      el("button", { type: "button", class: "link", onclick: () => this.pick(j) }, m.label(j));
    const id = s.id[i];
    const parcel = m.coded(s.parcel, i);
    const project = m.coded(s.project, i);
    for (let j = 0; j < m.count && lines.length < 40; j += 1) {
      if (j === i) continue;
      const theirs = m
        .coded(s.parcel, j)
        .split(";")
        .map((t) => t.trim());
      const up =
        s.kind[i] === 0
          ? s.kind[j] !== 0 && theirs.includes(id)
          : s.kind[j] === 0 &&
            parcel
              .split(";")
              .map((t) => t.trim())
              .includes(s.id[j]);
      const side = s.kind[i] === 1 && s.kind[j] === 2 && project && s.id[j] === project;
      const down = s.kind[i] === 2 && s.kind[j] === 1 && m.coded(s.project, j) === id;
      if (up || side || down) lines.push(linked(j));
    }
    const kept = m.keptNames.filter((name) => m.coded(s.kept[name], i) !== "");
    const facts = kept.map((name) =>
      el("span", {}, el("b", {}, name), " ", m.coded(s.kept[name], i)),
    );
    return lines.length + facts.length ? el("p", { class: "related" }, facts, lines) : null;
  }

  places(i) {
    const m = this.model;
    const area = m.value("area_sqft", i);
    const length = m.value("length_ft", i);
    const line = !area && typeof length === "number" && length > 0;
    const whole = line ? length : area;
    if (typeof whole !== "number" || whole <= 0)
      return el("p", { class: "none" }, "Its area is not known.");
    const unit = line ? "ft" : "sqft";
    const bar = el("div", { class: "bar", "aria-hidden": "true" });
    const rows = [];
    for (const place of PLACES) {
      const value = m.value(line ? `${place}_length_ft` : `${place}_sqft`, i);
      if (value === 0 && ["unmapped", "beyond_limit"].includes(place)) continue;
      const share = typeof value === "number" ? value / whole : 0;
      if (share > 0) {
        const piece = el("span", { class: `place-${place}` });
        piece.style.flexGrow = String(share);
        bar.append(piece);
      }
      rows.push(
        el(
          "tr",
          {},
          el(
            "th",
            { scope: "row" },
            el("span", { class: `swatch place-${place}`, "aria-hidden": "true" }),
            m.words.places[place],
          ),
          el("td", { class: "number" }, numberCell(value, unit)),
          el(
            "td",
            { class: "number" },
            typeof value === "number" ? number(100 * share, "pct") + "%" : "",
          ),
        ),
      );
    }
    rows.push(
      el(
        "tr",
        { class: "total" },
        el("th", { scope: "row" }, line ? "Length" : "Area"),
        el("td", { class: "number" }, number(whole, unit)),
        el("td", {}),
      ),
    );
    return el(
      "div",
      {},
      bar,
      el(
        "table",
        { class: "plain" },
        el("caption", { class: "unseen" }, "Where it lies"),
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("th", { scope: "col" }, "Where it lies"),
            el("th", { scope: "col", class: "number" }, line ? "ft" : "sq ft"),
            el("th", { scope: "col", class: "number" }, "share"),
          ),
        ),
        el("tbody", {}, rows),
      ),
    );
  }

  /** The other areas, lengths and slopes; what is not known only where there is some. */
  measures(i) {
    const m = this.model;
    const skip = new Set([
      "area_sqft",
      "length_ft",
      ...PLACES.flatMap((p) => [`${p}_sqft`, `${p}_length_ft`]),
    ]);
    const names = Object.keys(m.subjects.numbers).filter(
      (name) => !skip.has(name) && !isDistance(name),
    );
    const told = names.filter((name) => {
      if (name === "disturbed_sqft") return m.subjects.kind[i] === 0; // asked of parcels alone
      return !name.includes("unknown") || m.value(name, i);
    });
    return this.numbers(i, told, "Other measures");
  }

  distances(i) {
    return this.numbers(
      i,
      Object.keys(this.model.subjects.numbers).filter(isDistance),
      "Distances",
    );
  }

  numbers(i, names, caption) {
    const m = this.model;
    const rows = names.map((name) => {
      const unit = name.slice(name.lastIndexOf("_") + 1);
      return el(
        "tr",
        {},
        el("th", { scope: "row" }, m.words.columns[name].words),
        el("td", { class: "number" }, numberCell(m.value(name, i), unit)),
        el("td", { class: "unit" }, m.words.columns[name].unit),
      );
    });
    return rows.length
      ? el(
          "table",
          { class: "plain measures" },
          el("caption", { class: "unseen" }, caption),
          el(
            "thead",
            { class: "unseen" },
            el(
              "tr",
              {},
              el("th", { scope: "col" }, "Measure"),
              el("th", { scope: "col" }, "Value"),
              el("th", { scope: "col" }, "Unit"),
            ),
          ),
          el("tbody", {}, rows),
        )
      : null;
  }

  findings(i) {
    const m = this.model;
    const rows = m.findingsOf[i] || [];
    const by = { met: [], undetermined: [], not_met: [] };
    const grave = Object.keys(m.words.severities);
    const rank = (row) => grave.indexOf(m.findings.rules[m.findings.rule[row]].severity);
    for (const row of rows.slice().sort((a, b) => rank(a) - rank(b)))
      by[m.words.outcomes[m.findings.outcome[row]].code].push(row);
    const list = (some) =>
      el(
        "ul",
        { class: "findings" },
        this.grouped(some).map((group) => this.finding(group)),
      );
    const box = el(
      "section",
      { "aria-labelledby": "sheet-findings" },
      el("h4", { id: "sheet-findings" }, "Findings"),
    );
    if (by.met.length) box.append(list(by.met));
    if (by.undetermined.length)
      box.append(el("h5", {}, `Cannot be told (${by.undetermined.length})`), list(by.undetermined));
    if (by.not_met.length)
      box.append(
        el(
          "details",
          {},
          el("summary", {}, `Looked at and not met (${by.not_met.length})`),
          list(by.not_met),
        ),
      );
    if (!rows.length)
      box.append(
        el("p", { class: "none" }, "No condition is met on the layers used, and none is in doubt."),
      );
    return box;
  }

  /** Findings of one rule with one answer stand together, a line a feature. */
  grouped(rows) {
    const f = this.model.findings;
    const groups = new Map();
    for (const row of rows) {
      const key = `${f.rule[row]}|${f.answer[row]}`;
      if (groups.has(key)) groups.get(key).push(row);
      else groups.set(key, [row]);
    }
    return [...groups.values()];
  }

  finding(rows) {
    const m = this.model;
    const f = m.findings;
    const rule = f.rules[f.rule[rows[0]]];
    const outcome = m.words.outcomes[f.outcome[rows[0]]];
    const answer = m.words.answers[f.answer[rows[0]]] || outcome;
    const more = m.words.cites[rule.cite_status];
    const one = rows.length === 1;
    const lead = one ? this.feature(rows[0]) : "";
    return el(
      "li",
      {
        class: `finding ${outcome.code} severity-${rule.severity} answer-${answer.code}${one ? "" : " several"}`,
      },
      el(
        "div",
        { class: "finding-head" },
        el("strong", {}, answer.words),
        el("span", { class: "rule" }, rule.rule),
      ),
      el(
        "div",
        { class: "finding-text" },
        rule.title ? el("p", { class: "title" }, rule.title) : null,
        el("p", {}, lead ? `${lead}. ` : null, rule.says),
        one ? this.remarks(rows[0]) : null,
        el("p", { class: "cite" }, more ? `${rule.cite} (${more})` : rule.cite),
      ),
      one
        ? this.held(rows[0])
        : el(
            "ul",
            { class: "each" },
            rows.map((row) =>
              el(
                "li",
                {},
                el("b", {}, this.feature(row) || "The subject"),
                el("div", {}, this.remarks(row)),
                this.held(row),
              ),
            ),
          ),
    );
  }

  feature(row) {
    const f = this.model.findings;
    const id = this.model.coded(f.feature_id, row);
    return id ? `${capital(this.model.coded(f.feature_kind, row).replace("_", " "))} ${id}` : "";
  }

  remarks(row) {
    const m = this.model;
    const f = m.findings;
    const text = (column) => m.coded(column, row);
    const doubts = text(f.doubt)
      .split(";")
      .map((d) => d.trim())
      .filter(Boolean);
    return [
      doubts.length
        ? el(
            "p",
            { class: "doubt" },
            el("b", {}, "Doubt: "),
            doubts.map((d) => m.words.doubts[d] || d).join("; "),
            ".",
          )
        : null,
      text(f.needs)
        ? el("p", { class: "needs" }, el("b", {}, "To tell it, needed: "), text(f.needs), ".")
        : null,
      text(f.note) ? el("p", { class: "note" }, text(f.note)) : null,
    ];
  }

  /** The number of a finding beside what it is held against. */
  held(row) {
    const m = this.model;
    const f = m.findings;
    const unit = (m.words.units[f.unit[row]] || { code: "" }).code;
    const [value, threshold] = [f.value[row], f.threshold[row]];
    if (value === null && threshold === null) return el("div", { class: "held" });
    const words = m.words.comparisons[f.comparison[row]];
    const limit =
      threshold === null || !words
        ? null
        : el(
            "span",
            { class: "asked" },
            `asked: ${words} ${withUnit(threshold, unit).replace(".00", "")}`,
          );
    const [low, high] = [f.low[row], f.high[row]];
    const between =
      typeof low === "number" && typeof high === "number" && low !== high
        ? el(
            "span",
            { class: "asked" },
            `between ${number(low, unit, threshold)} and ${withUnit(high, unit, threshold)}`,
          )
        : null;
    return el(
      "div",
      { class: "held" },
      el("span", { class: "value" }, withUnit(value, unit, threshold)),
      limit,
      between,
    );
  }

  contacts(i) {
    const m = this.model;
    const c = m.contacts;
    const first = ["wetland", "watercourse", "floodplain", "indicator"];
    const rank = (row) => (first.indexOf(m.coded(c.feature_kind, row)) + 9) % 9;
    const rows = (m.contactsOf[i] || [])
      .slice()
      .sort((a, b) => rank(a) - rank(b) || (c.distance[a] ?? 1e12) - (c.distance[b] ?? 1e12));
    const box = el(
      "section",
      { "aria-labelledby": "sheet-contacts" },
      el("h4", { id: "sheet-contacts" }, "Features nearby"),
    );
    if (!rows.length) {
      box.append(
        el(
          "p",
          { class: "none" },
          "No feature lies within the distances that the rules ask about.",
        ),
      );
      return box;
    }
    const head = [
      ["Feature", ""],
      ["Class", ""],
      ["Distance", "ft"],
      ["Inside", "sq ft"],
      ["Whole feature", "sq ft"],
      ["Source", ""],
    ];
    box.append(
      el(
        "div",
        {
          class: "scroll",
          tabindex: "0",
          role: "region",
          "aria-label": "Table of the features nearby",
        },
        el(
          "table",
          {},
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              head.map(([h, unit]) =>
                el(
                  "th",
                  { scope: "col", class: unit ? "number" : null },
                  h,
                  unit ? el("span", { class: "unit" }, unit) : null,
                ),
              ),
            ),
          ),
          el(
            "tbody",
            {},
            rows.map((row) => {
              const t = (column) => m.coded(column, row);
              return el(
                "tr",
                {},
                el(
                  "th",
                  { scope: "row" },
                  `${capital(t(c.feature_kind).replace("_", " "))} ${t(c.feature_id)}`,
                  t(c.name) ? el("span", { class: "kind" }, t(c.name)) : null,
                ),
                el("td", {}, t(c.class)),
                el("td", { class: "number" }, numberCell(c.distance[row], "ft")),
                el("td", { class: "number" }, numberCell(c.area[row], "sqft")),
                el("td", { class: "number" }, numberCell(c.whole[row], "sqft")),
                el(
                  "td",
                  {},
                  [t(c.source), t(c.basis).replace("_", " ")].filter(Boolean).join(", "),
                ),
              );
            }),
          ),
        ),
      ),
    );
    return box;
  }
}

function printSheet() {
  document.body.classList.add("print-sheet");
  window.addEventListener("afterprint", () => document.body.classList.remove("print-sheet"), {
    once: true,
  });
  window.print();
}
