/* The page: what is chosen in one place shows in the others. */

async function begin() {
  let data;
  try {
    data = await readData();
  } catch (error) {
    byId("explore-failed").hidden = false;
    return;
  }
  const model = new Model(data);
  byId("explore-body").hidden = false;
  const tip = byId("map-tip");
  const canvas = byId("map");
  const map = new ShapeMap(canvas, model, {
    pick: (i) => choose(i, "map"),
    hover: (i, at) => {
      tip.hidden = i < 0;
      if (i < 0) return;
      tip.textContent = `${model.label(i)}: ${model.status(i).words}`;
      tip.style.left = `${Math.min(at[0] + 14, map.width - tip.offsetWidth - 4)}px`;
      tip.style.top = `${Math.max(at[1] - 30, 4)}px`;
    },
  });
  const table = new SubjectTable(model, (i) => choose(i, "table"));
  const sheet = new Sheet(
    model,
    (i) => choose(i, "sheet"),
    (i) => {
      map.select(i, true);
      byId("explore").scrollIntoView({ block: "start" });
      canvas.focus({ preventScroll: true });
    },
  );

  function choose(i, from) {
    table.reveal(i);
    map.select(i, from !== "map");
    sheet.open(i);
    byId("chosen").textContent = `${model.label(i)}: ${model.status(i).words}. `;
    byId("chosen-link").hidden = false;
    try {
      history.replaceState(null, "", model.address(i));
    } catch {
      /* a page inside another may not have an address of its own */
    }
    if (from === "sheet") byId("sheet").scrollIntoView({ block: "start" });
  }

  const wire = (id, act) => byId(id).addEventListener("click", act);
  wire("zoom-in", () => map.zoom(1.6));
  wire("zoom-out", () => map.zoom(1 / 1.6));
  wire("zoom-all", () => map.fit());
  layerBoxes(model, map);
  shorten(byId("provisions"));
  document.querySelectorAll("button[data-status]").forEach((button) =>
    button.addEventListener("click", () =>
      filterFrom(table, {
        "filter-status": button.dataset.status,
        "filter-kind": kindOfTiles(model),
      }),
    ),
  );
  document.querySelectorAll("button[data-finding]").forEach((button) => {
    const [pack, rule, outcome] = JSON.parse(button.dataset.finding);
    const r = model.findings.rules.findIndex((one) => one.pack === pack && one.rule === rule);
    const o = model.words.outcomes.findIndex((one) => one.code === outcome);
    button.addEventListener("click", () => filterFrom(table, { "filter-rule": `${r}|${o}` }));
  });
  const open = () => {
    const match = /^#subject=(\w+)\/(.*)\/(\d+)$/.exec(location.hash);
    if (!match) return false;
    const i = model.find(match[1], decodeURIComponent(match[2]), Number(match[3]));
    if (i >= 0) choose(i, "address");
    return i >= 0;
  };
  window.addEventListener("hashchange", open);
  if (!open() && model.count === 1) choose(0, "address");
  window.addEventListener("beforeprint", () => map.draw());
  document.documentElement.dataset.ready = "true";
}

/** The kind that the tiles count, where the page has several. */
function kindOfTiles(model) {
  return new Set(model.subjects.kind).size > 1 ? byId("tiles").dataset.kind : "";
}

function filterFrom(table, values) {
  table.only(values);
  byId("explore").scrollIntoView({ block: "start" });
  byId("table-scroll").focus({ preventScroll: true });
}

/** A long table shows its first rows until the rest is asked for. */
function shorten(table) {
  const more = table ? table.querySelectorAll("tr.more").length : 0;
  if (!more) return;
  const button = byId("provisions-more");
  const show = (all) => {
    table.classList.toggle("short", !all);
    button.textContent = all ? "Show fewer" : `Show ${more} more provisions`;
    button.setAttribute("aria-expanded", String(all));
  };
  button.hidden = false;
  button.addEventListener("click", () => show(table.classList.contains("short")));
  show(false);
}

function layerBoxes(model, map) {
  const box = byId("layers");
  for (const layer of model.layers.slice().reverse()) {
    if (!layer.shapes.some(Boolean)) continue;
    const input = el("input", { type: "checkbox", checked: layer.shown });
    input.addEventListener("change", () => map.toggle(layer.name, input.checked));
    const swatch = el("span", { class: `swatch layer-${layer.name}`, "aria-hidden": "true" });
    box.append(el("label", {}, input, swatch, layer.label));
  }
}

begin();
