// The page of a tuning: the settings that were replayed, one by one.
// The layout of the data is described in reports/tune/grid.py.

const HIGH = 120;

const pick = (name, options, changed) => {
  const select = make("select", { ariaLabel: name }, ...options.map((words, n) => make("option", { value: n }, words)));
  select.addEventListener("change", changed);
  return { made: make("label", {}, `${name} `, select, " "), value: () => Number(select.value) };
};

// The cost of each setting with recovery, of which one is shown.
const barsOf = (settings, now) => {
  const most = Math.max(...settings.map((each) => each.recovery)) || 1;
  const wide = 600 / settings.length;
  const drawn = draw("svg", { viewBox: `0 0 600 ${HIGH}`, role: "img", "aria-label": "cost with recovery of each setting" });
  settings.forEach((each, n) => {
    const high = (each.recovery / most) * (HIGH - 4);
    const look = { x: at(n * wide + 1), y: at(HIGH - high), width: at(wide - 2), height: at(high), fill: tint(n === now ? "blue" : "grid") };
    drawn.append(draw("rect", look, draw("title", {}, `${each.name}: ${dollars(each.recovery)} USD`)));
  });
  return drawn;
};

const settings = (place) => {
  const data = JSON.parse(document.getElementById(place.dataset.block).textContent);
  const labels = [...new Set(data.strategies.map((each) => each.label))];
  const shown = make("div");
  const controls = make("div", { className: "controls" });
  const line = (term, words) => [make("dt", {}, term), make("dd", {}, words)];

  const show = (tuned, n) => {
    const each = tuned.settings[n];
    const facts = data.heads.flatMap((head, i) => line(head, each.cells[i]));
    if (tuned.keep_all !== null) facts.push(...line("keep_all, USD", tuned.keep_all));
    if (each.marked) facts.push(...line("of all settings", each.marked));
    const paste = each.paste ? [make("p", {}, `${each.condition} In ${each.file}:`), make("pre", {}, each.paste)] : [];
    const caption = make("p", { className: "quiet" }, "Cost with recovery of each setting, from 0.");
    shown.replaceChildren(barsOf(tuned.settings, n), caption, make("h3", {}, each.name), make("dl", {}, ...facts), ...paste);
  };

  // Windows are those under which the chosen strategy was replayed, and settings those of both.
  const choose = () => {
    const own = data.strategies.filter((each) => each.label === labels[strategy.value()]);
    const rest = make("div");
    const windowOf = pick("Window", own.map((each) => `${each.window.toLocaleString("en")} tokens, ${each.sessions} session${each.sessions === 1 ? "" : "s"}`), () => fill());
    const fill = () => {
      const tuned = own[windowOf.value()];
      const told = make("output");
      const input = make("input", { type: "range", min: 0, max: tuned.settings.length - 1, step: 1, value: tuned.first });
      const tell = () => {
        const n = Number(input.value);
        told.textContent = `${tuned.settings[n].name} (${n + 1} of ${tuned.settings.length} replayed)`;
        input.setAttribute("aria-valuetext", told.textContent);
        show(tuned, n);
      };
      input.addEventListener("input", tell);
      rest.replaceChildren(make("div", { className: "sliders" }, make("label", {}, "Setting", input, told)));
      tell();
    };
    controls.replaceChildren(make("p", {}, strategy.made, windowOf.made), rest);
    fill();
  };
  const strategy = pick("Strategy", labels, choose);
  place.querySelector(".still").hidden = true;
  place.append(controls, shown);
  choose();
};

for (const place of document.querySelectorAll(".settings")) settings(place);
