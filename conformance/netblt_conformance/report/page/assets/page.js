// SPDX-License-Identifier: GPL-2.0-or-later
// The page as a whole: filters and search over the list of results, the address that holds them, keyboard and theme.

const rows = [...document.querySelectorAll("#list .result")];
const view = new DetailView(document.getElementById("detail"));
const controls = ["q", "verdict", "requirement", "role", "origin"].map((name) => document.getElementById(`filter-${name}`));
const texts = new Map();

function textOf(row) {
  if (!texts.has(row)) {
    const titles = row.dataset.requirements.split(" ").map((id) => known[id]?.title || "");
    texts.set(row, `${row.textContent} ${row.dataset.who} ${row.dataset.origin} ${titles.join(" ")}`.toLowerCase());
  }
  return texts.get(row);
}

const page = {
  current: null, // the row that the keyboard stands on
  shown: rows,
  listAt: 0, // where the list was scrolled to

  /** What the address says: the result that is open and the filters. */
  wanted() {
    return new URLSearchParams(location.hash.slice(1));
  },

  /** Puts filters and open result into the address; the rest follows from it. */
  go(changes, replace = false) {
    const wanted = this.wanted();
    for (const [name, value] of Object.entries(changes)) value ? wanted.set(name, value) : wanted.delete(name);
    history[replace ? "replaceState" : "pushState"](null, "", `#${wanted}`);
    this.follow();
  },

  /** Shows what the address says. */
  follow() {
    const wanted = this.wanted();
    for (const control of controls) {
      const value = wanted.get(control.name) || "";
      if (control.value !== value) control.value = value;
    }
    this.filter(wanted);
    const row = wanted.get("r") ? rows.find((one) => one.dataset.key === wanted.get("r")) : null;
    const overview = document.getElementById("overview");
    if (row) {
      if (!overview.hidden) this.listAt = scrollY;
      overview.hidden = true;
      this.mark(row);
      const at = this.shown.indexOf(row);
      view.open(row, at < 0 ? "" : `${at + 1} of ${this.shown.length}`).catch((why) => {
        view.element.replaceChildren(make("p", { class: "warning" }, `This browser cannot show the details: ${why.message}`));
        view.element.hidden = false;
      });
      scrollTo(0, 0);
    } else if (overview.hidden) {
      view.close();
      overview.hidden = false;
      scrollTo(0, this.listAt);
      this.current?.scrollIntoView({ block: "nearest" });
    }
  },

  filter(wanted) {
    const words = (wanted.get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);
    const exact = ["verdict", "role", "origin"].map((name) => [name, wanted.get(name)]).filter(([, value]) => value);
    const requirement = wanted.get("requirement");
    this.shown = rows.filter(
      (row) =>
        exact.every(([name, value]) => row.dataset[name] === value) &&
        (!requirement || row.dataset.requirements.split(" ").includes(requirement)) &&
        (!words.length || words.every((word) => textOf(row).includes(word))),
    );
    const on = new Set(this.shown);
    for (const row of rows) row.hidden = !on.has(row);
    document.getElementById("shown").textContent = `${this.shown.length} of ${rows.length}`;
    for (const tile of document.querySelectorAll(".tile")) {
      tile.setAttribute("aria-pressed", `${tile.dataset.verdict === (wanted.get("verdict") || "")}`);
    }
  },

  mark(row) {
    this.current?.removeAttribute("aria-current");
    this.current = row;
    row?.setAttribute("aria-current", "true");
  },

  /** To the next result that is shown, or the one before: in the list, or from detail to detail. */
  step(by) {
    const at = this.shown.indexOf(this.current);
    const next = this.shown[at < 0 ? 0 : Math.max(0, Math.min(this.shown.length - 1, at + by))];
    if (!next) return;
    if (view.row) this.go({ r: next.dataset.key }, true);
    else {
      this.mark(next);
      next.scrollIntoView({ block: "nearest" });
      next.focus({ preventScroll: true });
    }
  },

  leave() {
    this.go({ r: "" });
  },

  toResults() {
    document.getElementById("results").scrollIntoView();
  },
};

const keys = {
  j: () => page.step(1),
  k: () => page.step(-1),
  "/": () => {
    if (view.row) page.leave();
    document.getElementById("filter-q").focus();
  },
  "?": () => document.getElementById("help").showModal(),
  t: () => theme.next(),
  d: () => view.row && view.select(view.detail.deciding, true),
  z: () => view.plot?.reset(),
  ArrowDown: () => view.row && (view.move(1), true),
  ArrowUp: () => view.row && (view.move(-1), true),
  Enter: () => page.current && !view.row && page.go({ r: page.current.dataset.key }),
  Escape: () => view.row && page.leave(),
};

document.addEventListener("keydown", (pressed) => {
  if (pressed.ctrlKey || pressed.metaKey || pressed.altKey || document.getElementById("help").open) return;
  const inside = pressed.target.closest("input, select, textarea");
  if (inside) {
    if (pressed.key === "Escape") inside.blur();
    if (pressed.key === "Enter" && inside.name === "q" && page.shown.length) {
      inside.blur();
      page.current = null;
      page.step(1);
    }
    return;
  }
  if (pressed.key === "Enter" && pressed.target.closest("a, button, summary")) return; // does what it is for
  const act = keys[pressed.key];
  if (!act) return;
  if (pressed.key.startsWith("Arrow") && !view.row) return;
  pressed.preventDefault();
  act();
});

const theme = {
  names: ["auto", "light", "dark"],

  set(name) {
    document.documentElement.dataset.theme = name;
    document.getElementById("theme").textContent = `theme: ${name}`;
    try {
      localStorage.setItem("netblt-theme", name);
    } catch {
      // A page from a file may have no storage.
    }
    colours.clear();
    view.repaint();
  },

  next() {
    const at = this.names.indexOf(document.documentElement.dataset.theme);
    this.set(this.names[(at + 1) % this.names.length]);
  },

  start() {
    let name = "auto";
    try {
      name = localStorage.getItem("netblt-theme") || name;
    } catch {
      // As above.
    }
    this.set(this.names.includes(name) ? name : "auto");
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.set(document.documentElement.dataset.theme));
  },
};

for (const control of controls) {
  control.addEventListener(control.name === "q" ? "input" : "change", () => page.go({ [control.name]: control.value }, true));
}
for (const row of rows) {
  row.addEventListener("click", (clicked) => {
    if (clicked.ctrlKey || clicked.metaKey || clicked.shiftKey) return;
    clicked.preventDefault();
    page.go({ r: row.dataset.key });
  });
}
for (const tile of document.querySelectorAll(".tile")) {
  tile.addEventListener("click", () => {
    page.go({ verdict: tile.dataset.verdict, requirement: "", role: "", origin: "", q: "" });
    page.toResults();
  });
}
for (const cell of document.querySelectorAll("button[data-cell]")) {
  cell.addEventListener("click", () => {
    page.go({ requirement: cell.dataset.cell, role: cell.dataset.role, verdict: "", origin: "", q: "" });
    page.toResults();
  });
}
document.getElementById("theme").addEventListener("click", () => theme.next());
document.getElementById("help-button").addEventListener("click", keys["?"]);
document.getElementById("clear").addEventListener("click", () => page.go({ q: "", verdict: "", requirement: "", role: "", origin: "" }));
addEventListener("hashchange", () => page.follow());
theme.start();
page.follow();
