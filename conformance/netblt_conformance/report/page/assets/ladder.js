// SPDX-License-Identifier: GPL-2.0-or-later
// The ladder diagram: both ends, the network between them, one arrow for each packet. Only what is in view is drawn.

const LADDER = {
  row: 17, // px between packets that one end sends, so that their labels can be read
  near: 3, // px between two moments, at least
  gapPx: 36, // px of a pause
  top: 14,
  slope: 9, // px of an arrow whose other end is not known
  character: 6.4, // px
  spare: 400, // px drawn above and below of what is in view
};

class Ladder {
  /** `select` is called with the number of an event that the reader chose. */
  constructor(detail, select) {
    this.detail = detail;
    this.select = select;
    this.selected = -1;
    this.head = make("div", { class: "ladder-head" }, this.endName(0), make("span", { class: "net" }, "network"), this.endName(1));
    this.svg = makeSvg("svg", { role: "img", "aria-label": "ladder diagram of the packets" });
    this.scroller = make("div", { class: "ladder", tabindex: "0" }, this.svg);
    this.element = make("div", { class: "ladder-box" }, this.head, this.scroller);
    this.scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    for (const name of ["pointermove", "pointerleave", "click"]) {
      this.svg.addEventListener(name, (happened) => this.pointer(happened));
    }
    this.resized = new ResizeObserver(() => this.layout());
    this.resized.observe(this.scroller);
  }

  endName(end) {
    const { name, under_test: tested, sends_data: sends } = this.detail.ends[end];
    const role = sends === null || sends === undefined ? "" : sends ? "sends data" : "receives data";
    return make("span", { class: tested ? "end tested" : "end" }, make("b", {}, name), make("small", {}, [tested ? "under test" : "", role].filter(Boolean).join(", ")));
  }

  pointer(happened) {
    const group = happened.type === "pointerleave" ? null : happened.target.closest("g[data-event]");
    const event = group && this.detail.events[+group.dataset.event];
    if (happened.type === "click" && event) this.select(event.index);
    tooltip(event && happened.pointerType !== "touch" ? fieldsOf(this.detail, event) : null, happened.clientX, happened.clientY);
  }

  /** Moments in the order of their time: each packet leaves, and arrives if that is known. */
  moments() {
    const found = [];
    for (const event of this.detail.events) {
      const copied = has(event, "C") && event.sent_us === null;
      if (event.sent_us !== null) found.push({ time: event.sent_us, event, sends: true, side: event.source });
      if (event.arrived_us !== null) {
        found.push({ time: event.arrived_us, event, sends: event.sent_us === null, ends: true, side: copied || event.sent_us !== null ? 1 - event.source : event.source });
      }
    }
    return found.sort((a, b) => a.time - b.time || a.event.index - b.event.index);
  }

  /** Gives each packet the heights at which it leaves and arrives. Time runs downwards but is not to scale: pauses are
   * shortened and marked. */
  layout() {
    const width = this.scroller.clientWidth;
    if (!width) return;
    this.small = width < 520;
    this.left = this.small ? 76 : 128;
    this.right = width - (this.small ? 40 : 56);
    this.middle = (this.left + this.right) / 2;
    const moments = this.moments();
    const pause = pauseFrom(moments);
    const last = [0, 0];
    const labels = [null, null];
    let onTheWay = 0;
    let y = LADDER.top;
    let before = null;
    this.places = this.detail.events.map(() => ({ from: null, to: null }));
    this.pauses = [];
    for (const moment of moments) {
      const passed = before === null ? 0 : moment.time - before;
      if (passed >= pause && onTheWay === 0) {
        this.pauses.push({ y: y + 9, us: passed });
        y += LADDER.gapPx;
      } else if (passed > 0) y += Math.min(LADDER.row, LADDER.near * (1 + Math.log2(1 + passed / pause)));
      if (moment.event.sent_us !== null && moment.event.arrived_us !== null) onTheWay += moment.ends ? -1 : 1;
      const step = moment.sends ? LADDER.row : 11;
      y = Math.max(y, last[moment.side] + step);
      if (moment.sends) {
        // Labels begin at both sides: long ones need a row each.
        const { source } = moment.event;
        const label = { y, px: this.words(moment.event).length * LADDER.character };
        const across = labels[1 - source];
        if (across && y - across.y < LADDER.row && label.px + across.px > this.right - this.left - 24) y = across.y + LADDER.row;
        labels[source] = { ...label, y };
      }
      last[moment.side] = y;
      before = moment.time;
      const place = this.places[moment.event.index];
      if (!moment.ends) place.from = y;
      else {
        place.to = y;
        if (moment.sends) place.from = y;
      }
    }
    let timed = -Infinity; // where the last time was written: they must not cover each other
    for (const [index, place] of this.places.entries()) {
      const event = this.detail.events[index];
      if (place.from === null) place.from = place.to ?? y;
      place.timed = Math.abs(place.from - timed) >= 10;
      if (place.timed) timed = place.from;
      if (event.sent_us === null && place.to !== null) place.from = place.to - LADDER.slope;
      if (place.to === null) place.to = place.from + LADDER.slope;
      place.top = Math.min(place.from, place.to) - LADDER.row;
      place.bottom = Math.max(place.from, place.to) + LADDER.row;
    }
    this.height = y + 40;
    this.svg.setAttribute("height", this.height);
    this.svg.setAttribute("width", width);
    this.show(this.selected, this.follow);
  }

  draw() {
    if (!this.places) return;
    const top = this.scroller.scrollTop - LADDER.spare;
    const bottom = this.scroller.scrollTop + this.scroller.clientHeight + LADDER.spare;
    const drawn = [this.frame()];
    for (const pause of this.pauses) {
      if (pause.y > top && pause.y < bottom) drawn.push(this.pause(pause));
    }
    for (const [index, place] of this.places.entries()) {
      if (place.bottom > top && place.top < bottom) drawn.push(this.packet(this.detail.events[index], place));
    }
    this.svg.replaceChildren(...drawn);
  }

  frame() {
    const line = (x) => makeSvg("line", { class: "lifeline", x1: x, x2: x, y1: 0, y2: this.height });
    const network = makeSvg("rect", { class: "network", x: this.middle - 12, y: 0, width: 24, height: this.height });
    return makeSvg("g", {}, network, line(this.left), line(this.right));
  }

  pause({ y, us }) {
    const line = makeSvg("line", { class: "pause", x1: this.left, x2: this.right, y1: y, y2: y });
    const text = makeSvg("text", { class: "pause-text", x: this.middle, y: y + 4, "text-anchor": "middle" });
    text.textContent = `${duration(us)} later`;
    return makeSvg("g", {}, line, text);
  }

  packet(event, place) {
    const fromLeft = event.source === 0;
    const [start, end] = fromLeft ? [this.left, this.right] : [this.right, this.left];
    const copied = has(event, "C");
    const begin = copied ? this.middle : start;
    const x = (part) => begin + (end - begin) * part;
    const y = (part) => place.from + (place.to - place.from) * part;
    const classes = ["packet", `kind-${event.kind.toLowerCase().replace(/[^a-z]/g, "-")}`, event.fate, event.known];
    for (const [name] of event.messages) classes.push(`has-${name.toLowerCase()}`);
    for (const [mark, word] of [["R", "again"], ["L", "late"], ["C", "copied"]]) if (has(event, mark)) classes.push(word);
    if (event.index === this.detail.deciding) classes.push("deciding");
    if (event.index === this.selected) classes.push("selected");
    const parts = [makeSvg("rect", { class: "band", x: 0, y: place.from - 14, width: this.scroller.clientWidth, height: LADDER.row })];
    const line = (a, b, extra = "") => makeSvg("line", { class: `way ${extra}`, x1: x(a), y1: y(a), x2: x(b), y2: y(b) });
    if (event.fate === "lost") {
      parts.push(line(0, copied ? 0.3 : 0.47), this.cross(x(copied ? 0.34 : 0.5), y(0.5)));
    } else {
      const seen = event.sent_us === null && !copied ? [0.5, 1, 0, 0.5] : [0, 0.5, 0.5, 1];
      const unsure = (event.sent_us === null && !copied) || event.arrived_us === null || event.fate === "unknown";
      parts.push(unsure ? [line(seen[0], seen[1]), line(seen[2], seen[3], "unsure")] : line(0, 1));
      parts.push(this.arrow(end, place.to, fromLeft ? 1 : -1));
      if (event.fate === "damaged") parts.push(this.flash(x(0.5), y(0.5)));
    }
    if (copied) parts.push(makeSvg("circle", { class: "origin", cx: begin, cy: place.from, r: 3 }));
    parts.push(this.label(event, place, fromLeft, copied), ...this.gutters(event, place, fromLeft));
    // A wide line that is not seen: thin ones are hard to hit.
    parts.push(makeSvg("line", { class: "hit", x1: begin, y1: place.from, x2: end, y2: place.to }));
    return makeSvg("g", { class: classes.join(" "), "data-event": event.index }, parts);
  }

  cross(x, y) {
    return makeSvg("path", { class: "cross", d: `M${x - 5} ${y - 5}L${x + 5} ${y + 5}M${x - 5} ${y + 5}L${x + 5} ${y - 5}` });
  }

  flash(x, y) {
    return makeSvg("path", { class: "flash", d: `M${x - 2} ${y - 9}L${x + 4} ${y - 3}L${x - 3} ${y + 1}L${x + 3} ${y + 8}` });
  }

  arrow(x, y, direction) {
    return makeSvg("path", { class: "head", d: `M${x} ${y}l${-8 * direction} -4l0 8z` });
  }

  /** The label of a packet and its marks. */
  words(event) {
    return [event.label || event.kind, ...markWords(event)].join(" ");
  }

  label(event, place, fromLeft, copied) {
    const from = copied ? this.middle : fromLeft ? this.left : this.right;
    const room = Math.floor((Math.abs((fromLeft ? this.right : this.left) - from) - 14) / LADDER.character);
    const marks = markWords(event).map((word) => (word.startsWith("copy") ? "copy" : word)).join(", ");
    const text = makeSvg("text", { class: "label", x: from + (fromLeft ? 8 : -8), y: place.from - 3, "text-anchor": fromLeft ? "start" : "end" });
    const words = event.label || event.kind;
    const left = room - (marks ? marks.length + 1 : 0);
    text.append(words.length > left ? `${words.slice(0, Math.max(8, left - 1))}…` : words);
    if (marks) text.append(" ", makeSvg("tspan", { class: "mark" }, marks));
    return text;
  }

  /** Frame numbers beside the ends where they were captured, and the time. */
  gutters(event, place, fromLeft) {
    const drawn = [];
    const text = (x, y, words, name, anchor) => {
      const one = makeSvg("text", { class: name, x, y: y + 3, "text-anchor": anchor });
      one.textContent = words;
      drawn.push(one);
    };
    const frameAt = (frame, y, left) => {
      if (frame) text(left ? this.left - 7 : this.right + 7, y, `${frame}`, "frame", left ? "end" : "start");
    };
    frameAt(event.sent_frame, place.from, fromLeft);
    frameAt(event.arrived_frame, place.to, !fromLeft);
    const time = event.sent_us ?? event.arrived_us;
    if (time !== null && place.timed) text(2, place.from, this.small ? (time / 1e6).toFixed(3) : seconds(time), "time", "start");
    return drawn;
  }

  /** Highlights an event and, if asked, scrolls to it. */
  show(index, scroll) {
    this.selected = index;
    this.follow = scroll && !this.places; // there is no layout yet: scroll when there is
    const place = this.places && this.places[index];
    if (place && scroll) this.scroller.scrollTop = place.from - this.scroller.clientHeight / 2;
    this.draw();
  }
}

/** From which time on without any packet a pause is shortened, in us: many times the usual distance of moments. */
function pauseFrom(moments) {
  const steps = [];
  for (let n = 1; n < moments.length; n++) {
    const step = moments[n].time - moments[n - 1].time;
    if (step > 0) steps.push(step);
  }
  steps.sort((a, b) => a - b);
  return Math.max(1000, 8 * (steps[Math.floor(steps.length / 2)] || 0));
}
