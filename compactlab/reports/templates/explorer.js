// The explorer: bills at other prices and lifetimes, computed from what the page holds.
// The layout of the data is described in reports/page/explorer.py.

// Steps of a slider for prices: a tenth to ten times, the middle is the list price.
const STEPS = 20;

const lasting = (seconds) => {
  const [size, unit] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].find(([each]) => seconds >= each) ?? [1, "s"];
  return `${Number((seconds / size).toPrecision(3))} ${unit}`;
};

const times = (factor) => `${Number(factor.toPrecision(3))} ×`;

// A slider with its name, and what its place means in words.
const slider = (name, least, most, place, words, changed) => {
  const told = make("output");
  const input = make("input", { type: "range", min: least, max: most, step: 1, value: place });
  const tell = () => {
    told.textContent = words(Number(input.value));
    input.setAttribute("aria-valuetext", told.textContent);
  };
  input.addEventListener("input", () => { tell(); changed(); });
  tell();
  const reset = () => { input.value = place; tell(); };
  return { made: make("label", {}, name, input, told), value: () => Number(input.value), reset };
};

const factorOf = (step) => Number((10 ** (step / STEPS)).toPrecision(2));

const priceSliders = (data, changed) => data.classes.map(([name, , mean]) => slider(
  name, -STEPS, STEPS, 0, (step) => {
    const now = step ? `${times(factorOf(step))} the list price` : "list price";
    return mean === null ? now : `${now}: ${dollars(mean * factorOf(step))} USD per million tokens`;
  }, changed));

const lifetimeSlider = (data, changed) => slider(
  "cache lifetime", 0, data.lifetimes.length - 1, data.replayed, (place) => {
    const factor = data.lifetimes[place];
    if (factor === null) return "never expires";
    const lives = data.seconds.map((each) => lasting(each * factor)).join(" and ");
    return place === data.replayed ? `${lives}, as replayed` : `${lives} (${times(factor)}), approximated`;
  }, changed);

// One strategy; of one that decides by prices and lifetimes nothing is known unless both are as replayed.
const billOfClass = (strategy, factors, lifetime, same) => {
  const [label, colour, choice, bill, shifts, fixed] = strategy;
  const moved = shifts[lifetime] ?? [];
  const parts = bill.map((dollars, n) => Math.max(0, dollars + (moved[n] ?? 0)) * factors[n]);
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const known = same || !fixed;
  return { label, colour, choice, parts: known ? parts : [], known, cost: known ? sum(parts) : Infinity, replayed: sum(bill) };
};

const barOf = (data, row, most) => {
  const cell = make("td", { className: "bar" });
  row.parts.forEach((part, n) => {
    const piece = make("span");
    piece.style.backgroundColor = tint(data.classes[n][1]);
    piece.style.width = `${((part / most) * 100).toFixed(2)}%`;
    cell.append(piece);
  });
  return cell;
};

const changeOf = (row) => {
  if (!row.known) return "needs a replay";
  const share = (row.cost / row.replayed - 1) * 100;
  return Math.abs(share) < 0.05 ? "=" : `${share > 0 ? "+" : "−"}${Math.abs(share).toFixed(1)}%`;
};

const billTable = (data, rows) => {
  const most = Math.max(...rows.filter((row) => row.known).map((row) => row.cost)) || 1;
  const keys = data.classes.map(([name, colour]) => {
    const swatch = make("span", { className: "swatch" });
    swatch.style.backgroundColor = tint(colour);
    return make("th", { scope: "col" }, swatch, name);
  });
  const head = (words) => make("th", { scope: "col" }, words);
  const heads = make("tr", {}, head("strategy"), head(data.head), head("change"), make("td", { className: "bar" }), ...keys);
  const lines = rows.map((row) => make("tr", { className: row.choice ? "" : "quiet" },
    nameOf({ ...row, marks: "" }),
    ...[row.known ? dollars(row.cost) : "–", changeOf(row)].map((words) => make("td", {}, words)),
    barOf(data, row, most),
    ...data.classes.map((_, n) => make("td", {}, row.known ? dollars(row.parts[n]) : "–"))));
  const table = make("table", { className: "figures" }, make("thead", {}, heads), make("tbody", {}, ...lines));
  return make("div", { className: "wide" }, table);
};

// What a reader wants to know first: whether another strategy is the cheapest now.
const cheapest = (rows, key) => rows.filter((row) => row.choice && row.known)
  .reduce((best, row) => (best === null || row[key] < best[key] ? row : best), null);

const verdictOf = (rows, each) => {
  const [now, before] = [cheapest(rows, "cost"), cheapest(rows, "replayed")];
  if (!now) return "No strategy is usable and compacted at least once.";
  const text = `Cheapest usable strategy: ${now.label}, ${dollars(now.cost)} USD${each}.`;
  return now === before ? `${text} The same as replayed.`
    : `${text} As replayed it is ${before.label}, which costs ${dollars(before.cost)} USD${each} here.`;
};

const explore = (place) => {
  const data = JSON.parse(document.getElementById(place.dataset.block).textContent);
  const shown = make("div");
  const told = make("p", { className: "told" });
  told.setAttribute("aria-live", "polite");
  const changed = () => {
    const factors = prices.map((each) => factorOf(each.value()));
    const life = lifetime ? lifetime.value() : data.replayed;
    const same = life === data.replayed && factors.every((factor) => factor === 1);
    const rows = data.strategies.map((each) => billOfClass(each, factors, life, same));
    rows.sort((a, b) => a.cost - b.cost);
    told.textContent = verdictOf(rows, data.each);
    shown.replaceChildren(billTable(data, rows));
  };
  const prices = priceSliders(data, changed);
  const lifetime = data.lifetimes.length ? lifetimeSlider(data, changed) : null;
  const sliders = [...prices, ...(lifetime ? [lifetime] : [])];
  const button = make("button", { type: "button" }, "As replayed");
  button.addEventListener("click", () => { sliders.forEach((each) => each.reset()); changed(); });
  place.querySelector(".still").hidden = true;
  place.append(make("div", { className: "controls" },
    make("div", { className: "sliders" }, ...sliders.map((each) => each.made)), told, button), shown);
  changed();
};

for (const place of document.querySelectorAll(".explorer")) explore(place);
