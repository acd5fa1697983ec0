// Copies of charts: each as SVG in light colours, and its figures as CSV.
// Nothing leaves the page but into the clipboard.

// Where a clipboard is refused, the text is shown selected, ready to be copied by hand.
const copied = async (button, text) => {
  button.parentNode.querySelector("textarea")?.remove();
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    const area = make("textarea", { value: text, readOnly: true, rows: 4, ariaLabel: "copy this text" });
    button.parentNode.append(area);
    area.select();
  }
};

// Looks that a style sheet gives: those that children inherit, and those of one element alone.
const INHERITED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "font-size", "font-weight", "text-anchor"];
const OWN = { opacity: "1", "fill-opacity": "1", "stroke-opacity": "1" };

const dress = (from, to, above) => {
  const look = getComputedStyle(from);
  for (const name of ["class", "style", "tabindex", "data-tip"]) to.removeAttribute(name);
  for (const key of [...INHERITED, ...Object.keys(OWN)]) {
    const value = look.getPropertyValue(key);
    if (value !== (OWN[key] ?? above?.getPropertyValue(key))) to.setAttribute(key, value);
  }
  [...from.children].forEach((child, n) => dress(child, to.children[n], look));
};

const plain = (drawing) => {
  const copy = drawing.cloneNode(true);
  const unseen = [...copy.querySelectorAll(".tip, .cursor")];
  dress(drawing, copy, null);
  for (const each of unseen) each.remove();
  return copy;
};

// One drawing as it stands, or several in a grid with the text above each.
const onPaper = (drawings) => {
  const { width: wide, height: high } = drawings[0][1].viewBox.baseVal;
  const across = Math.min(3, drawings.length);
  const above = drawings.length > 1 ? 22 : 0;
  const size = [wide * across, (high + above) * Math.ceil(drawings.length / across)];
  const sheet = draw("svg", { width: size[0], height: size[1], viewBox: `0 0 ${size.join(" ")}` });
  sheet.setAttribute("font-family", "DejaVu Sans, Verdana, Arial, Helvetica, sans-serif");
  sheet.append(draw("rect", { width: "100%", height: "100%", fill: "white" }));
  drawings.forEach(([words, drawing], n) => {
    const [x, y] = [(n % across) * wide, Math.floor(n / across) * (high + above)];
    const part = plain(drawing);
    const place = { x, y: y + above, width: wide, height: high };
    for (const [key, value] of Object.entries(place)) part.setAttribute(key, value);
    if (above) sheet.append(draw("text", { x: x + 4, y: y + 14, "font-size": 12 }, words));
    sheet.append(part);
  });
  return new XMLSerializer().serializeToString(sheet);
};

const asSvg = (figure) => {
  const root = document.documentElement;
  const theme = root.dataset.theme;
  root.dataset.theme = "light";
  const seen = [...figure.querySelectorAll("svg")].filter((each) => each.getClientRects().length);
  const text = onPaper(seen.map((each) => [each.closest(".panel")?.querySelector(".name").textContent ?? "", each]));
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  return text;
};

// A name from a log may look like a formula to a spreadsheet.
const asCsv = (lines) => lines.map((cells) => cells.map((cell) => {
  const text = typeof cell === "string" ? cell.replace(/^\s*[=+\-@]/, "'$&") : String(cell);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}).join(",")).join("\n");

// The buttons of a chart; ``values`` gives its figures as CSV.
const copies = (figure, values) => {
  const bar = make("span", { className: "copies" });
  const button = (words, text) => {
    const made = make("button", { type: "button" }, words);
    made.addEventListener("click", () => copied(made, text()));
    made.addEventListener("blur", () => { made.textContent = words; });
    bar.append(made, " ");
  };
  button("Copy SVG", () => asSvg(figure));
  if (values) button("Copy CSV", values);
  figure.querySelector("h3, h4").append(bar);
};

for (const figure of document.querySelectorAll("figure[id]")) {
  copies(figure, figure.dataset.values ? () => figure.dataset.values : null);
}
