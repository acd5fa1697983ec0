// The page works without this script; with it, tables sort, and colours follow a switch.
// Whatever comes from the data is put in as text: nothing here makes markup of it.
"use strict";

const make = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

const missing = (value) => value === null || Number.isNaN(value);

// Missing values are last in both directions; equal ones keep the order that they are in.
const compare = (a, b, sign) => {
  if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
  return a < b ? -sign : a > b ? sign : 0;
};

const valueOf = (row, column) => {
  const cell = row.cells[column];
  if (cell.tagName === "TH") return cell.dataset.name.toLowerCase();
  return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
};

// In which direction a click on a head sorts: the best first, and then the worst.
const nextOrder = (head) => {
  const first = head.dataset.better === "higher" ? "descending" : "ascending";
  const other = first === "ascending" ? "descending" : "ascending";
  return head.getAttribute("aria-sort") === first ? other : first;
};

const sortBy = (table, head, order) => {
  const column = [...head.parentNode.cells].indexOf(head);
  for (const each of head.parentNode.cells) each.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [valueOf(row, column), row]);
  rows.sort(([a], [b]) => compare(a, b, sign));
  body.append(...rows.map(([, row]) => row));
};

const sortable = (table) => {
  for (const head of table.tHead.rows[table.tHead.rows.length - 1].cells) {
    const button = make("button", { type: "button", className: "sort" });
    button.append(...head.childNodes);
    button.addEventListener("click", () => sortBy(table, head, nextOrder(head)));
    head.append(button);
  }
};

const themeSwitch = () => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const button = make("button", { type: "button", className: "theme" });
  const dark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const name = () => (button.textContent = dark() ? "Light colours" : "Dark colours");
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    name();
  });
  system.addEventListener("change", name);
  name();
  document.querySelector("main").prepend(button);
};

// All parts at once, as before printing: what is closed is not printed.
const openAll = () => {
  const parts = [...document.querySelectorAll("details.part")];
  if (!parts.length) return;
  const button = make("button", { type: "button", className: "all" }, "Open all parts");
  button.addEventListener("click", () => {
    const open = parts.some((part) => !part.open);
    for (const part of parts) part.open = open;
    button.textContent = open ? "Close all parts" : "Open all parts";
  });
  document.querySelector("main").prepend(button);
};

for (const table of document.querySelectorAll("table.sortable")) sortable(table);
// A figure in full, to who points at it.
document.addEventListener("pointerover", ({ target }) => {
  const cell = target.closest("td[data-value]");
  if (cell && !cell.title) cell.title = cell.dataset.value;
});
openAll();
themeSwitch();
