// The page of compactlab serve: sends a dropped transcript, and shows what comes of it.
// What the server says is put in as text; its pages stand in frames of their own.

const PULSE = 400;
const WORDS = { waiting: "waiting", running: "at work", done: "done", failed: "no result", stopped: "stopped" };

// A frame as high as its page, so that one scrolls only once.
const frameOf = (step) => {
  const frame = make("iframe", { title: step.title, src: step.name });
  frame.addEventListener("load", () => {
    const body = frame.contentDocument.body;
    const fit = () => { frame.style.height = `${body.scrollHeight + 4}px`; };
    new ResizeObserver(fit).observe(body);
    fit();
  });
  const save = make("a", { href: step.name, download: `${step.name}.html` }, "Save this page");
  return make("section", { id: `part-${step.name}` }, make("h2", {}, step.title), make("p", {}, save), frame);
};

const serve = (place) => {
  const find = (query) => place.querySelector(query);
  const [told, list, stop, results, drop, input, take] =
    [".told", ".steps", ".stop", ".results", ".drop", "input", ".take"].map(find);
  const limit = Number(place.dataset.limit);
  let shown = new Set();
  let dropped = true; // and not taken from the list of logs, which stay
  let turn = 0; // a transcript, or the end of one, begins a turn: answers to earlier ones are late

  const lock = (busy) => {
    input.disabled = busy;
    if (take) take.disabled = busy;
  };

  const tell = (state) => {
    list.replaceChildren(...state.steps.map((step) => make("li", { className: step.state },
      step.page ? make("a", { href: `#part-${step.name}` }, step.title) : step.title, `: ${WORDS[step.state]}`,
      make("span", { className: "said" }, step.text))));
    for (const step of state.steps) {
      if (step.page && !shown.has(step.name)) {
        shown.add(step.name);
        results.append(frameOf(step));
      }
    }
    stop.hidden = !state.running;
    lock(state.running);
    if (!state.running && state.steps.length) told.textContent = `${dropped ? "The transcript is deleted. " : ""}Save what you want to keep: it goes with this server.`;
  };

  const ask = async (name, options = {}) => {
    const answer = await fetch(name, { ...options, cache: "no-store" });
    if (!answer.ok) throw new Error((await answer.text()).trim());
    return answer.json();
  };

  const wrong = (error) => {
    stop.hidden = true;
    lock(false);
    told.textContent = error instanceof TypeError ? "The server does not answer: has it been stopped?" : error.message;
  };

  const follow = async (mine) => {
    try {
      const state = await ask("status");
      if (mine !== turn) return;
      tell(state);
      if (state.running) setTimeout(follow, PULSE, mine);
    } catch (error) {
      if (mine === turn) wrong(error);
    }
  };

  const send = (files) => {
    if (input.disabled || !files.length) return;
    const [file] = files;
    if (files.length > 1) return wrong(new Error("One transcript at a time, please."));
    if (file.size > limit) return wrong(new Error(`${file.name} is larger than ${Math.round(limit / 1e6)} MB: audit it with the command, or raise --limit.`));
    dropped = true;
    begin(file.name, "transcript?", { headers: { "Content-Type": "application/octet-stream" }, body: file });
  };

  const begin = async (name, address, options) => {
    shown = new Set();
    results.replaceChildren();
    list.replaceChildren();
    lock(true);
    stop.hidden = false;
    turn += 1;
    told.textContent = `Reading ${name} ...`;
    try {
      const chosen = encodeURIComponent(find("select[aria-label=strategy]").value);
      tell(await ask(`${address}strategy=${chosen}`, { method: "POST", ...options }));
      told.textContent = name;
      follow(turn);
    } catch (error) {
      wrong(error);
    }
  };

  input.addEventListener("change", () => send(input.files));
  take?.addEventListener("click", () => {
    const logs = find(".logs");
    dropped = false;
    begin(logs.selectedOptions[0].textContent, `log?number=${logs.value}&`, {});
  });
  stop.addEventListener("click", () => {
    turn += 1;
    ask("stop", { method: "POST" }).then(tell, wrong);
  });
  for (const name of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", name === "dragover");
      if (name === "drop") send(event.dataTransfer.files);
    });
  }
  find(".controls").hidden = false;
  follow(turn);
};

for (const place of document.querySelectorAll(".serve")) serve(place);
