// SPDX-License-Identifier: GPL-2.0-or-later
// Small helpers of the page: making elements, colours of the theme, copying, times as text.

/** Makes an element. Attributes that begin with "on" are listeners; null children are left out. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

function makeSvg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

const colours = new Map();

/** The colour that a variable of the style sheet has in the theme that is shown: a canvas cannot read variables. */
function colour(name) {
  if (!colours.has(name)) {
    const probe = make("span", { style: `color:var(--${name});display:none` });
    document.body.append(probe);
    colours.set(name, getComputedStyle(probe).color);
    probe.remove();
  }
  return colours.get(name);
}

/** Microseconds as a person writes them: "250 us", "3.2 ms", "1.204 s". */
function duration(us) {
  const size = Math.abs(us);
  if (size < 1000) return `${+us.toFixed(size < 10 ? 1 : 0)} us`;
  if (size < 1e6) return `${+(us / 1e3).toPrecision(4)} ms`;
  return `${+(us / 1e6).toPrecision(4)} s`;
}

/** Microseconds since the first packet, in seconds, as Wireshark shows them. */
function seconds(us) {
  return us === null ? "" : (us / 1e6).toFixed(6);
}

/** A text with a button that copies it. */
function copyable(label, text) {
  const button = make("button", { type: "button", class: "copy", "aria-label": `copy: ${label}` }, "copy");
  button.addEventListener("click", async () => {
    let done = false;
    try {
      await navigator.clipboard.writeText(text);
      done = true;
    } catch {
      // A page from a file may have no clipboard: the old way needs a selection.
      const area = make("textarea", { class: "offscreen" });
      area.value = text;
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
    }
    button.textContent = done ? "copied" : "select it";
    setTimeout(() => (button.textContent = "copy"), 1500);
  });
  return make("div", { class: "copyable" }, make("span", { class: "what" }, label), make("code", {}, text), button);
}

/** Shows `lines`, pairs of name and value, beside the pointer; null hides them. */
function tooltip(lines, x = 0, y = 0) {
  const box = document.getElementById("tooltip");
  box.hidden = lines === null;
  if (lines === null) return;
  box.replaceChildren(...lines.map(([name, value]) => make("div", {}, make("b", {}, name), " ", value)));
  const { width, height } = box.getBoundingClientRect();
  const left = x + 14 + width > innerWidth ? x - 14 - width : x + 14;
  box.style.left = `${Math.max(4, left)}px`;
  box.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - height - 4))}px`;
}
