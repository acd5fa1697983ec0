// The drawings of one conversation: a panel a strategy, and their cumulative cost by call.
// The layout of the data is described in reports/page/conversations.py.

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const MOST = 4095;
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 4", "12 4"];

const numbers = (written, scale) => {
  const values = [];
  for (let at = 0; at < written.length; at += 2) {
    const level = DIGITS.indexOf(written[at]) * 64 + DIGITS.indexOf(written[at + 1]);
    values.push((level * scale) / MOST);
  }
  return values;
};

const bit = (written, n) => (DIGITS.indexOf(written[Math.floor(n / 6)] ?? "A") >> n % 6) & 1;

const runOf = (data, run) => {
  const [strategy, marks, quiet, compactions, calls, step, ...rest] = run;
  const [size, sizes, miss, misses, cost, costs, cut, over, ...cells] = rest;
  const bins = sizes.length / 2;
  const hits = (written) => Array.from({ length: bins }, (_, n) => bit(written, n));
  const facts = { strategy, marks, quiet, compactions, calls, step, cost, cells };
  const series = { sizes: numbers(sizes, size), misses: numbers(misses, miss), costs: numbers(costs, cost) };
  return { ...data.strategies[strategy], ...facts, ...series, cut: hits(cut), over: hits(over) };
};

const tokens = (value) => {
  for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    const scaled = value / size;
    const digits = scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0;
    if (scaled >= 0.9995) return scaled.toFixed(digits) + letter;
  }
  return value.toFixed(0);
};

const dollars = (value) => {
  const digits = value > 0 ? 1 - Math.floor(Math.log10(value)) : 0;
  return value > 0 ? value.toFixed(Math.min(12, Math.max(2, digits))) : "0";
};

// 20.0k is 20k on an axis, and 0.20 is 0.2.
const short = (write) => (value) => write(value).replace(/\.0+(?=\D|$)|(\.\d*[1-9])0+(?=\D|$)/, "$1");

// Steps of 1, 2 or 5 that make about so many ticks, and no more.
const ticks = (most, wanted, least) => {
  const raw = Math.max(most / wanted, least) || 1;
  const power = 10 ** Math.floor(Math.log10(raw) + 1e-9);
  const step = [1, 2, 5, 10].find((n) => n * power >= raw * 0.9999) * power;
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, n) => n * step);
};

const draw = (name, attributes = {}, ...children) => {
  const space = document.getElementById("ink").namespaceURI;
  const made = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

// A long name without its middle; an emoji or an accent is not torn.
const clipped = (name, most) => {
  const letters = [...name];
  const tail = Math.floor((most - 1) / 2);
  if (letters.length <= most) return name;
  return [...letters.slice(0, most - 1 - tail), "…", ...letters.slice(-tail)].join("");
};

const write = (x, y, words, anchor = "start") => draw("text", { x, y, "text-anchor": anchor }, words);
const tint = (colour) => `var(--${colour})`;
const at = (value) => value.toFixed(1);
const path = (pairs) => pairs.map(([x, y], n) => `${n ? "L" : "M"}${at(x)} ${at(y)}`).join("");

// What both kinds of drawing stand in: axes with ticks, and where a call and a value lie on them.
const frame = (box, calls, most, format, unit) => {
  const across = (call) => box.left + ((call - 0.5) / calls) * (box.right - box.left);
  const up = (value) => box.bottom - (value / most) * (box.bottom - box.top);
  const axes = draw("g", { class: "axes" });
  for (const value of ticks(most, box.rows, 0)) {
    axes.append(draw("path", { d: `M${box.left} ${at(up(value))}H${box.right}` }));
    axes.append(write(box.left - 5, at(up(value) + 3.5), value ? format(value) : "0", "end"));
  }
  axes.append(write(0, box.top - 8, unit));
  axes.append(write((box.left + box.right) / 2, box.bottom + 27, "call number", "middle"));
  const marked = ticks(calls, box.columns, 1).slice(1);
  for (const call of marked.length ? marked : [1]) {
    axes.append(write(at(across(call)), box.bottom + 14, String(call), "middle"));
  }
  return { axes, across, up };
};

const PANEL = { left: 40, right: 334, top: 18, bottom: 112, rows: 4, columns: 5 };

const panelOf = (run, shown) => {
  const { axes, across, up } = frame(PANEL, shown.calls, shown.peak * 1.05 || 1, short(tokens), "tokens");
  const edge = (n) => across(Math.min(n * run.step, run.calls) + 0.5);
  const middle = (n) => (edge(n) + edge(n + 1)) / 2;
  const { bottom, top } = PANEL;
  const outline = run.sizes.flatMap((size, n) => [[edge(n), up(size)], [edge(n + 1), up(size)]]);
  const area = outline.length ? `${path([[edge(0), bottom], ...outline, [outline.at(-1)[0], bottom]])}Z` : "";
  const bar = (value, n) => {
    const width = at((edge(n + 1) - edge(n)) * 0.85);
    return value ? `M${at(edge(n))} ${bottom}V${at(up(value))}h${width}V${bottom}Z` : "";
  };
  const rug = (hits, low) => hits.map((hit, n) => (hit ? `M${at(middle(n))} ${low}v-6` : "")).join("");
  const windows = shown.windows.map(([from, size], n) => {
    const to = shown.windows[n + 1]?.[0] ?? shown.calls + 1;
    const inside = size && size <= shown.peak * 1.05;
    return inside ? `M${at(across(from - 0.5))} ${at(up(size))}H${at(across(to - 0.5))}` : "";
  });
  const cursor = draw("path", { class: "cursor" });
  const drawn = draw(
    "svg",
    { viewBox: "0 0 340 142", "aria-hidden": "true" },
    axes,
    draw("path", { class: "area", d: area, fill: tint(run.colour) }),
    draw("path", { d: run.misses.map(bar).join(""), fill: tint(run.colour) }),
    draw("path", { class: "cut", d: rug(run.cut, top - 2) }),
    draw("path", { class: "over", d: rug(run.over, top - 10) }),
    draw("path", { class: "over window", d: windows.join("") }),
    cursor,
  );
  const place = (n) => cursor.setAttribute("d", n < 0 ? "" : `M${at(middle(n))} ${top}V${bottom}`);
  return { drawn, place };
};

// Where the names of lines stand: as near to their ends as may be, and none on another.
const spread = (wanted, lowest, apart) => {
  const places = [];
  for (const y of wanted) places.push(Math.max(y, (places.at(-1) ?? -Infinity) + apart));
  for (let n = places.length - 1, most = lowest; n >= 0; n -= 1, most = places[n + 1] - apart) {
    places[n] = Math.min(places[n], most);
  }
  return places;
};

// The cumulative cost by call, a line a strategy, each named where it ends.
const billOf = (runs, shown) => {
  const height = Math.max(280, 15 * runs.length + 64);
  const box = { left: 52, right: 650, top: 20, bottom: height - 36, rows: 6, columns: 10 };
  const most = Math.max(...runs.map((run) => run.cost), 0) * 1.03 || 1;
  const { axes, across, up } = frame(box, shown.calls, most, short(dollars), "USD");
  const drawn = draw("svg", { viewBox: `0 0 940 ${height}`, role: "img", class: "bill" }, axes);
  drawn.setAttribute("aria-label", "cumulative cost by call, a line a strategy");
  const costliest = [...runs].sort((a, b) => b.cost - a.cost);
  const places = spread(costliest.map((run) => up(run.cost)), box.bottom, 14);
  const worn = {};
  costliest.forEach((run, place) => {
    const along = run.costs.map((cost, n) => [across(Math.min((n + 1) * run.step, run.calls)), up(cost)]);
    const end = along.at(-1) ?? [box.left, box.bottom];
    const number = (worn[run.colour] = (worn[run.colour] ?? -1) + 1);
    const stroke = tint(run.colour);
    const dashes = { stroke, "stroke-dasharray": DASHES[number % DASHES.length] };
    const [from, to] = [end[1], places[place]];
    const lead = [end, [box.right + 4, from], [box.right + 18, to], [box.right + 26, to]];
    const words = `${clipped(run.label, 28)}, ${dollars(run.cost)} USD`;
    drawn.append(draw(
      "g",
      { class: "line" },
      draw("path", { d: path([[across(0.5), up(0)], ...along]), ...dashes }),
      draw("path", { class: "lead", d: path(lead), stroke }),
      write(box.right + 30, at(to + 4), words),
    ));
  });
  return drawn;
};
