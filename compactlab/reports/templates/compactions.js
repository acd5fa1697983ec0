// One compaction at a time, of the reader's choice: those of the chosen conversation first.

const compactions = (place) => {
  const views = [...place.querySelectorAll(".view")];
  for (const view of views) view.removeAttribute("name"); // one is open, and others are not there
  const [none, idle] = [place.querySelector(".none"), place.querySelector("[data-idle]")];
  const select = make("select", { ariaLabel: "compaction" });
  const show = (shown) => {
    views.forEach((view) => { view.hidden = view !== shown; view.open = view === shown; });
    select.value = views.indexOf(shown);
  };
  const group = (label, held) => make("optgroup", { label }, ...held.map((view) =>
    make("option", { value: views.indexOf(view) }, view.querySelector("summary").textContent.trim())));
  const fill = (title) => {
    const own = views.filter((view) => view.dataset.conversation === title);
    const others = views.filter((view) => !own.includes(view));
    select.replaceChildren(...[group("This conversation", own), group("Other conversations, those with the most missed facts first", others)]
      .filter((each) => each.children.length));
    none.hidden = own.length > 0;
    if (idle) idle.hidden = idle.dataset.idle !== title;
    show(own[0] ?? others[0]);
  };
  const step = (way) => {
    const order = [...select.options].map((option) => views[option.value]);
    show(order[(order.findIndex((view) => view.open) + way + order.length) % order.length]);
  };
  const button = (words, way) => {
    const made = make("button", { type: "button" }, words);
    made.addEventListener("click", () => step(way));
    return made;
  };
  // An address of a compaction, or of something in it, opens that one.
  const follow = () => {
    const wanted = document.getElementById(location.hash.slice(1))?.closest(".view");
    if (!views.includes(wanted)) return;
    show(wanted);
    wanted.closest("details.part").open = true;
    wanted.scrollIntoView();
  };
  place.prepend(make("p", { className: "controls" }, make("label", {}, "Compaction: ", select), " ", button("Previous", -1), " ", button("Next", 1)));
  select.addEventListener("change", () => show(views[select.value]));
  place.addEventListener("conversation", ({ detail }) => fill(detail));
  addEventListener("hashchange", follow);
  fill(views[0].dataset.conversation);
  follow();
};

for (const place of document.querySelectorAll(".compactions")) compactions(place);
