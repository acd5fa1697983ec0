// What a chart tells of a place, and a label of itself: to the pointer, a touch and the keyboard.

const bubble = make("div", { className: "bubble", hidden: true });
bubble.setAttribute("role", "status");
document.body.append(bubble);
let again = null; // shows once more what the keyboard asked for, after the page has moved

const tell = ([head, ...lines], x, y) => {
  bubble.replaceChildren(make(lines.length ? "b" : "div", {}, head), ...lines.map((line) => make("div", {}, line)));
  bubble.hidden = false;
  const { width, height } = bubble.getBoundingClientRect();
  const left = Math.min(Math.max(4, x + 14), innerWidth - width - 4);
  const top = y + 16 + height > innerHeight ? y - height - 12 : y + 16;
  bubble.style.left = `${Math.max(4, left)}px`;
  bubble.style.top = `${Math.max(4, top)}px`;
};

const silence = () => { bubble.hidden = true; again = null; };

// A label with a note. Its title alone would be for a mouse only.
const noted = (label) => {
  const [words, stop] = [label.title.split("\n"), label.querySelector("button") ?? label];
  label.removeAttribute("title");
  if (stop === label) label.tabIndex = 0;
  const show = () => {
    const { left, bottom } = label.getBoundingClientRect();
    tell(words, left - 14, bottom - 12);
  };
  label.addEventListener("pointerenter", show);
  label.addEventListener("pointerleave", silence);
  stop.addEventListener("click", show);
  stop.addEventListener("focus", () => { show(); again = show; });
  stop.addEventListener("blur", silence);
  stop.addEventListener("keydown", (event) => { if (event.key === "Escape") silence(); });
};

// A title would be shown by the browser as well, and later.
const telling = (drawing) => {
  const places = [...drawing.querySelectorAll(".tip")];
  if (!places.length) return;
  const wordsOf = (place) => place.dataset.tip.split("\u2028");
  for (const place of places) {
    place.dataset.tip = place.textContent;
    place.replaceChildren();
    place.addEventListener("pointermove", (event) => tell(wordsOf(place), event.clientX, event.clientY));
    place.addEventListener("pointerleave", silence);
  }
  let at = -1;
  const show = () => {
    const box = places[at].getBoundingClientRect();
    tell(wordsOf(places[at]), box.left + Math.min(box.width, 240) / 2, box.top + box.height / 2);
  };
  const go = (n) => {
    at = (n + places.length) % places.length;
    show();
    again = show;
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

for (const label of document.querySelectorAll(".noted")) noted(label);
for (const drawing of document.querySelectorAll("figure svg")) telling(drawing);
addEventListener("scroll", () => (again ? again() : silence()), { passive: true, capture: true });
