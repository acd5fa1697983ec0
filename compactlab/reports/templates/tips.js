// What a chart tells of a place: to the pointer, and to the arrow keys once a chart has the focus.

const bubble = make("div", { className: "bubble", hidden: true });
bubble.setAttribute("role", "status");
document.body.append(bubble);

const tellOf = (place, x, y) => {
  const [head, ...lines] = place.dataset.tip.split("\u2028");
  bubble.replaceChildren(make("b", {}, head), ...lines.map((line) => make("div", {}, line)));
  bubble.hidden = false;
  const { width, height } = bubble.getBoundingClientRect();
  const left = Math.min(Math.max(4, x + 14), innerWidth - width - 4);
  const top = y + 16 + height > innerHeight ? y - height - 12 : y + 16;
  bubble.style.left = `${Math.max(4, left)}px`;
  bubble.style.top = `${Math.max(4, top)}px`;
};

const silence = () => { bubble.hidden = true; };

// A title would be shown by the browser as well, and later.
const telling = (drawing) => {
  const places = [...drawing.querySelectorAll(".tip")];
  if (!places.length) return;
  for (const place of places) {
    place.dataset.tip = place.textContent;
    place.replaceChildren();
    place.addEventListener("pointermove", (event) => tellOf(place, event.clientX, event.clientY));
    place.addEventListener("pointerleave", silence);
  }
  let at = -1;
  const go = (n) => {
    at = (n + places.length) % places.length;
    const box = places[at].getBoundingClientRect();
    tellOf(places[at], box.left + Math.min(box.width, 240) / 2, box.top + box.height / 2);
    for (const place of places) place.classList.toggle("told", place === places[at]);
  };
  drawing.setAttribute("tabindex", "0");
  drawing.addEventListener("focus", () => { if (drawing.matches(":focus-visible")) go(Math.max(at, 0)); });
  drawing.addEventListener("blur", () => { silence(); places[at]?.classList.remove("told"); });
  drawing.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (event.key === "Escape") silence();
    if (!way) return;
    event.preventDefault();
    go(at + way);
  });
};

for (const drawing of document.querySelectorAll("figure svg")) telling(drawing);
addEventListener("scroll", silence, { passive: true });
