// SPDX-License-Identifier: GPL-2.0-or-later
// The view of one result: what happened, what was expected, the packets as ladder and as plot, the state of the end.

const known = JSON.parse(document.getElementById("requirements").textContent);

class DetailView {
  constructor(element) {
    this.element = element;
    this.detail = null;
  }

  /** Shows the result of a row of the list; `place` is its place among the rows that are shown. */
  async open(row, place) {
    this.close();
    this.row = row;
    const detail = await detailOf(row);
    if (this.row !== row) return; // another one was chosen meanwhile
    this.detail = detail;
    this.ladder = this.plot = null;
    this.packet = make("section", { class: "card packet-card", "aria-live": "polite" });
    const rightSide = [];
    if (detail.events.length) {
      const select = (index) => this.select(index, true);
      this.ladder = new Ladder(detail, select);
      if (detail.events.some((event) => isData(event) || event.messages.length)) {
        this.plot = new SequencePlot(detail, select);
        rightSide.push(make("section", { class: "card" }, make("h3", {}, "Time and sequence"), this.plot.element));
      }
      rightSide.push(this.packet);
    }
    this.element.replaceChildren(
      this.bar(place),
      this.head(),
      ...[this.beside()].filter(Boolean),
      make("div", { class: "evidence" }, this.ladder ? this.ladderCard() : make("section", { class: "card" }, this.why()), make("div", { class: "side" }, rightSide)),
      make("div", { class: "states" }, this.state()),
      this.tools(),
    );
    this.element.hidden = false;
    this.select(detail.deciding >= 0 ? detail.deciding : detail.events.length ? 0 : -1, true);
  }

  close() {
    for (const part of [this.ladder, this.plot]) part?.resized.disconnect();
    this.plot?.plot?.destroy();
    tooltip(null);
    this.row = this.ladder = this.plot = null;
    this.element.replaceChildren();
    this.element.hidden = true;
  }

  bar(place) {
    const step = (by, words, keys) => make("button", { type: "button", title: keys, onclick: () => page.step(by) }, words);
    return make("nav", { class: "bar", "aria-label": "results" },
      make("a", { class: "back", href: "#", title: "Esc", onclick: (clicked) => { clicked.preventDefault(); page.leave(); } }, "← all results"),
      make("span", { class: "place" }, place), step(-1, "previous", "k"), step(1, "next", "j"));
  }

  head() {
    const { badge, label, who } = this.row.dataset;
    const listed = this.row.dataset.requirements.split(" ").filter(Boolean);
    const names = [...new Set([this.row.dataset.rule, ...listed])].filter(Boolean); // the violated one first
    const mark = make("span", { class: `badge ${this.row.dataset.verdict}` }, badge);
    return make("section", { class: "card top" },
      make("h2", {}, mark, " ", names.slice(0, 1).map((id) => `${id}${known[id] ? ` ${known[id].title}` : ""}`).join("") || label,
        names.length > 1 ? make("small", {}, ` and ${names.slice(1).join(", ")}`) : null),
      make("p", { class: "label" }, label, who ? ` · ${who}` : ""),
      make("p", { class: "sentence" }, this.detail.sentence),
      names.filter((id) => known[id] && !(this.detail.expected || "").endsWith(known[id].text)).map((id) => make("p", { class: "rule" }, make("b", {}, id), " ", known[id].text, " ", make("span", { class: "section" }, known[id].section))));
  }

  beside() {
    const { expected, observed, excuses = [] } = this.detail;
    if (!expected && !observed && !excuses.length) return null;
    const card = (title, text, name) => !text ? null : make("section", { class: `card ${name}` }, make("h3", {}, title), make("p", {}, text));
    return make("div", { class: "beside" }, card("Expected", expected, "expected"), card("Observed", observed, "observed"),
      excuses.length ? make("section", { class: "card excuses" }, make("h3", {}, "Excuses that are excluded"), make("ul", {}, excuses.map((one) => make("li", {}, one)))) : null);
  }

  why() {
    return make("p", { class: "none" }, this.detail.no_events || "There is no capture for this result.");
  }

  ladderCard() {
    const { left_out: out = {}, notes = [], position } = this.detail;
    const lines = [...notes];
    const missing = [["before", out.before], ["after", out.after]].filter(([, count]) => count);
    if (missing.length) lines.push(`Not drawn: ${missing.map(([where, count]) => `${count} packets far ${where} the deciding one`).join(", ")}. They are in the capture.`);
    if (position && position !== "unknown") lines.push(`Captured at: ${position}.`);
    const step = (by, words, title) => make("button", { type: "button", title, onclick: () => this.move(by) }, words);
    const bar = make("div", { class: "plot-bar" }, step(-1, "▲", "previous packet: arrow up"), step(1, "▼", "next packet: arrow down"),
      this.detail.deciding >= 0 ? make("button", { type: "button", title: "d", onclick: () => this.select(this.detail.deciding, true) }, `deciding frame ${this.detail.deciding_frame}`) : null);
    return make("section", { class: "card ladder-card" }, make("h3", {}, "Packets"), bar, this.ladder.element,
      make("div", { class: "key" }, ["arrived", "not known", "lost", "again", "late", "copy", "damaged"].map((word) => make("span", { class: `key-${word.replace(" ", "-")}` }, word))),
      lines.map((line) => make("p", { class: "note" }, line)));
  }

  state() {
    const tables = (this.detail.state || []).map(({ title, rows }) => make("section", { class: "card state" }, make("h3", {}, title),
      rows.length ? make("dl", { class: "facts" }, rows.map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])) : make("p", { class: "none" }, "none")));
    const { terms } = this.detail;
    if (terms && terms.buffer_size) {
      const rows = [["buffer", `${terms.buffer_size} bytes`], ["packet", `${terms.packet_size} bytes`], ["burst", `${terms.burst_size} packets each ${terms.burst_interval_ms} ms`],
        ["buffers at a time", terms.max_buffers], ["death timer", `${terms.death_timer_s} s`], ["data checksum", terms.data_checksum ? "yes" : "no"]];
      tables.push(make("section", { class: "card state" }, make("h3", {}, "Terms of the connection"),
        make("dl", { class: "facts" }, rows.map(([name, value]) => [make("dt", {}, name), make("dd", {}, `${value}`)]))));
    }
    return tables;
  }

  tools() {
    const { command, filter, finding_filter: finding, capture, capture_link: link, schedule, tree, facts = [], also = [], deciding_frame: frame } = this.detail;
    return make("section", { class: "card tools" }, make("h3", {}, "To look further"),
      command ? copyable("repeat the case", command) : null,
      finding ? copyable("Wireshark filter: finding", finding) : null,
      filter ? copyable("Wireshark filter: connection", filter) : null,
      make("p", {}, "capture: ", capture && link !== "" ? make("a", { href: `./${encodeURI(link ?? capture)}` }, capture) : capture || "none", frame ? `, frame ${frame}` : ""),
      schedule ? make("details", { open: true }, make("summary", {}, "shrunk schedule"), make("pre", {}, schedule)) : null,
      tree ? make("details", {}, make("summary", {}, `frame ${frame}, decoded`), make("pre", {}, tree)) : null,
      also.length ? make("details", {}, make("summary", {}, `the same in ${also.length} other captures`),
        make("ul", {}, also.map(([name, at]) => make("li", {}, make("a", { href: `./${encodeURI(name)}` }, name), at ? `, frame ${at}` : "")))) : null,
      facts.length ? make("dl", { class: "facts" }, facts.map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])) : null);
  }

  /** Selects a packet in the ladder, the plot and the card of its fields. */
  select(index, scroll) {
    const event = this.detail && this.detail.events[index];
    if (!event) return;
    this.selected = index;
    this.ladder.show(index, scroll);
    this.plot?.show(index);
    this.packet.replaceChildren(make("h3", {}, "Selected packet"),
      make("dl", { class: "facts" }, fieldsOf(this.detail, event).map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])));
  }

  move(by) {
    if (!this.detail?.events.length) return;
    this.select(Math.max(0, Math.min(this.detail.events.length - 1, this.selected + by)), true);
  }

  repaint() {
    if (this.plot?.plot) this.plot.rebuild();
  }
}
