// One conversation, of the reader's choice: its drawings, its figures, and the figures of a call.

const FEW = 12;

// A panel with its heading, and a line below with the figures of the call that is pointed at.
const panelFor = (run, shown, point) => {
  const { drawn, place } = panelOf(run, shown);
  const cuts = `${run.compactions} compaction${run.compactions === 1 ? "" : "s"}`;
  const whole = `${dollars(run.cost)} USD, ${cuts}`;
  const caption = make("p", { className: "caption" }, whole);
  const swatch = make("span", { className: "swatch" });
  swatch.style.backgroundColor = tint(run.colour);
  const head = make("p", { className: "name" }, swatch, run.label);
  const made = make("div", { className: "panel", tabIndex: 0 }, head, drawn, caption);
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", `${run.label}: arrow keys go from call to call`);
  const bins = run.sizes.length;
  const show = (n) => {
    const known = n >= 0 && n < bins;
    place(known ? n : -1);
    const [first, last] = callsOf(run, n);
    const calls = first === last ? `call ${first}` : `calls ${first}–${last}`;
    const size = `${tokens(run.sizes[n] ?? 0)} prompt tokens, ${tokens(run.misses[n] ?? 0)} missed the cache`;
    const words = `${calls}: ${size}; ${dollars(run.costs[n] ?? 0)} USD up to here`;
    caption.textContent = known ? words : whole;
  };
  const binAt = (event) => {
    const { left, width } = drawn.getBoundingClientRect();
    const x = (((event.clientX - left) / width) * 340 - PANEL.left) / (PANEL.right - PANEL.left);
    return Math.min(bins - 1, Math.max(0, Math.floor((x * shown.calls) / run.step)));
  };
  drawn.addEventListener("pointermove", (event) => point(binAt(event) * run.step));
  drawn.addEventListener("pointerleave", () => point(-1));
  made.addEventListener("focus", () => {
    caption.setAttribute("aria-live", "polite");
    point((bins - 1) * run.step);
  });
  made.addEventListener("blur", () => {
    caption.removeAttribute("aria-live");
    point(-1);
  });
  made.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!way) return;
    event.preventDefault();
    point(Math.min(bins - 1, Math.max(0, Math.floor(shown.call / run.step) + way)) * run.step);
  });
  return { made, tell: (call) => show(call < 0 ? -1 : Math.floor(call / run.step)) };
};

const nameOf = (run) => {
  const swatch = make("span", { className: "swatch" });
  swatch.style.backgroundColor = tint(run.colour);
  const mark = make("span", { className: "mark" }, ` ${run.marks}`);
  const pieces = run.label.split(/(?<=[_,])(?=\w)|(?=\()/).flatMap((piece) => [make("wbr"), piece]);
  const name = make("th", { scope: "row" }, swatch, ...pieces, mark);
  name.dataset.name = run.label;
  return name;
};

const cellOf = ([words, value, best]) => {
  const cell = make("td", { className: best ? "best" : "" }, words);
  if (value !== null) cell.dataset.value = value;
  return cell;
};

// The figures of all runs, the cheapest first, as the table without this script has them; or in the
// order that the reader has chosen in the table before.
const tableOf = (heads, runs, sorted) => {
  const row = make("tr", {}, make("th", { scope: "col" }, "strategy"));
  for (const [title, key, better, meaning] of heads) {
    const head = make("th", { scope: "col", className: "noted", title: meaning }, title);
    Object.assign(head.dataset, { key, better });
    if (key === "cost_usd") head.setAttribute("aria-sort", "ascending");
    row.append(head);
  }
  const lines = runs.map((run) =>
    make("tr", { className: run.quiet ? "quiet" : "" }, nameOf(run), ...run.cells.map(cellOf)));
  const table = make("table", { className: "figures" }, make("thead", {}, row), make("tbody", {}, ...lines));
  sortable(table);
  for (const head of row.querySelectorAll(".noted")) noted(head);
  const again = sorted && [...row.cells].find((head) => head.dataset.key === sorted.dataset.key);
  if (again) sortBy(table, again, sorted.getAttribute("aria-sort"));
  return make("div", { className: "wide" }, table);
};

// What the panels and the lines show, a row for each place along their axis.
const callsOf = (run, n) => [n * run.step + 1, Math.min((n + 1) * run.step, run.calls)];
const sizesOf = (runs) => [
  ["strategy", "first call", "last call", "largest prompt, tokens", "largest cache miss, tokens"],
  ...runs.flatMap((run) => run.sizes.map((size, n) => [run.label, ...callsOf(run, n), Math.round(size), Math.round(run.misses[n])])),
];
const costsOf = (runs) => [
  ["strategy", "up to call", "cumulative cost, USD"],
  ...runs.flatMap((run) => run.costs.map((cost, n) => [run.label, callsOf(run, n)[1], Number(cost.toPrecision(7))])),
];

const numbersOf = (data, wanted) =>
  [...data.strategies.keys()].filter((n) => wanted(data.strategies[n]));

// The controls: which conversation, and which strategies.
const choices = (data, state, changed) => {
  const select = make("select", { ariaLabel: "conversation" });
  const listed = () => data.conversations.map((each, n) => [each.title, n]).filter(([title]) =>
    title.toLowerCase().includes(state.filter));
  const fill = () => select.replaceChildren(...listed().map(([title, n]) =>
    make("option", { value: n, selected: n === state.conversation }, title)),
    ...(listed().length ? [] : [make("option", { disabled: true, selected: true }, "no match")]));
  const go = (n) => { state.conversation = n; select.value = n; changed(); };
  select.addEventListener("change", () => go(Number(select.value)));
  const step = (way) => () => {
    const order = listed().map(([, n]) => n);
    if (order.length) go(order[(order.indexOf(state.conversation) + way + order.length) % order.length]);
  };
  const button = (words, does) => {
    const made = make("button", { type: "button" }, words);
    made.addEventListener("click", does);
    return made;
  };
  const search = make("input", { type: "search", placeholder: "find a name", ariaLabel: "find a conversation" });
  search.addEventListener("input", () => {
    state.filter = search.value.toLowerCase();
    fill();
    const order = listed().map(([, n]) => n);
    if (order.length && !order.includes(state.conversation)) go(order[0]);
  });
  const boxes = data.strategies.map((each, n) => {
    const box = make("input", { type: "checkbox", checked: state.strategies.has(n) });
    box.addEventListener("change", () => { state.strategies[box.checked ? "add" : "delete"](n); changed(); });
    return box;
  });
  const only = (wanted) => () => {
    state.strategies = new Set(numbersOf(data, wanted));
    boxes.forEach((box, n) => { box.checked = state.strategies.has(n); });
    changed();
  };
  fill();
  const many = data.conversations.length > FEW;
  const labels = data.strategies.map((each, n) => make("label", {}, boxes[n], ` ${each.label}`));
  return make("div", { className: "controls" },
    make("p", {}, "Conversation: ", ...(many ? [search, " "] : []), select, " ",
      button("Previous", step(-1)), " ", button("Next", step(1))),
    make("p", {}, "Strategies: ", button("Pareto front and bounds", only((each) => each.chief)), " ",
      button("All", only(() => true)), " ", button("None", only(() => false))),
    make("details", {},
      make("summary", {}, "Select strategies"),
      make("div", { className: "boxes" }, ...labels)));
};

const conversation = (place) => {
  const data = JSON.parse(document.getElementById(place.dataset.block).textContent);
  const state = { conversation: 0, filter: "", strategies: new Set(numbersOf(data, (each) => each.chief)) };
  const shownPart = make("div");
  const changed = () => {
    const chosen = data.conversations[state.conversation];
    const runs = chosen.runs.map((each) => runOf(data, each));
    const drawn = runs.filter((run) => run.sizes.length && state.strategies.has(run.strategy));
    drawn.sort((a, b) => a.strategy - b.strategy);
    const shown = {
      calls: Math.max(...drawn.map((run) => run.calls), 1),
      peak: Math.max(...drawn.flatMap((run) => run.sizes), 0),
      windows: chosen.windows,
      call: -1,
    };
    const panels = drawn.map((run) => panelFor(run, shown, (call) => {
      shown.call = call;
      for (const panel of panels) panel.tell(call);
    }));
    const figure = (title, values, ...parts) => {
      const made = make("figure", {}, make("h4", {}, title), ...parts);
      copies(made, () => asCsv(values));
      return made;
    };
    shownPart.replaceChildren(
      make("p", { className: "chosen" }, make("strong", {}, chosen.title), ` ${chosen.about}`),
      ...(drawn.length ? [
        figure("Context size by call", sizesOf(drawn),
          make("div", { className: "panels" }, ...panels.map((panel) => panel.made))),
        figure("Cumulative cost by call, USD", costsOf(drawn), billOf(drawn, shown)),
      ] : [make("p", {}, "No strategy is selected.")]),
      ...(data.heads.length ? [
        make("h4", {}, "Figures of this conversation"),
        tableOf(data.heads, runs, shownPart.querySelector("[aria-sort]")),
      ] : []),
    );
    for (const each of place.closest("section").querySelectorAll(".compactions")) {
      each.dispatchEvent(new CustomEvent("conversation", { detail: chosen.title }));
    }
  };
  place.querySelector(".still").hidden = true;
  place.append(choices(data, state, changed), shownPart);
  changed();
};

// Drawn when somebody opens its part: most readers do not.
for (const place of document.querySelectorAll(".conversation")) {
  const part = place.closest("details");
  const start = () => { if (part.open && !place.querySelector(".controls")) conversation(place); };
  part.addEventListener("toggle", start);
  start();
}
