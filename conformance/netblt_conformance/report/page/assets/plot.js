// SPDX-License-Identifier: GPL-2.0-or-later
// The time-sequence plot of a transfer, as users of tcptrace know it. Drawn by uPlot.

const HIT_PX = 14; // how far from a point a click may be
const ZOOM = 0.75; // of the range, for each step of the wheel

/** What the plot shows, in the order of its legend: name, colour, which events, how they are drawn. */
const SERIES = [
  { name: "DATA", colour: "data", shape: "tick" },
  { name: "DATA again", colour: "again", shape: "square" },
  { name: "DATA lost", colour: "lost", shape: "cross" },
  { name: "GO", colour: "go", shape: "up" },
  { name: "OK", colour: "ok", shape: "down" },
  { name: "RESEND", colour: "resend", shape: "ring" },
  { name: "allowed by GO", colour: "go", line: true },
  { name: "confirmed by OK", colour: "ok", line: true },
  { name: "agreed pace", colour: "pace", line: true, dash: [5, 4] },
  { name: "high sequence (right)", colour: "high", line: true, scale: "seq" },
];

class SequencePlot {
  constructor(detail, select) {
    this.detail = detail;
    this.select = select;
    this.selected = -1;
    this.sender = Math.max(0, detail.ends.findIndex((end) => end.sends_data));
    this.view = this.sender;
    this.chart = make("div", { class: "chart" });
    this.legend = make("div", { class: "legend" });
    this.hidden = new Set();
    const button = (words, act, title) => make("button", { type: "button", title, onclick: act }, words);
    this.viewer = make("select", { "aria-label": "times as seen by", onchange: () => this.look(+this.viewer.value) },
      make("option", { value: this.sender }, "times at the data sender"),
      make("option", { value: 1 - this.sender }, "times at the data receiver"));
    const bar = make("div", { class: "plot-bar" }, this.viewer,
      button("+", () => this.zoom(ZOOM), "zoom in"), button("−", () => this.zoom(1 / ZOOM), "zoom out"),
      button("whole transfer", () => this.reset(), "show everything (double click)"));
    this.element = make("div", { class: "plot-box" }, bar, this.chart, this.legend);
    this.resized = new ResizeObserver(() => this.resize());
    this.resized.observe(this.chart);
  }

  look(end) {
    this.view = end;
    this.rebuild();
  }

  /** Points {x, y, event} and lines [[x, y], ...] of each series. */
  collect() {
    const { events, terms } = this.detail;
    const perBuffer = Math.max(1, Math.ceil((terms.buffer_size || 0) / (terms.packet_size || 1)) || largestPacket(events) + 1);
    const first = Math.min(...events.filter((one) => isData(one)).map((one) => one.buffer),
      ...events.flatMap((one) => one.messages.map((message) => message[2])));
    this.base = Number.isFinite(first) ? first : 0;
    this.perBuffer = perBuffer;
    const position = (buffer, packet) => (buffer - this.base) * perBuffer + packet;
    const points = SERIES.map(() => []);
    const lines = SERIES.map(() => []);
    const step = (line, x, y) => {
      const last = line[line.length - 1];
      if (last && last[1] === y) return;
      if (last) line.push([x, last[1]]);
      line.push([x, y]);
    };
    let allowed = 0;
    const confirmed = new Set();
    let run = 0;
    const sorted = events.filter((one) => timeNear(one, this.view) !== null).sort((a, b) => timeNear(a, this.view) - timeNear(b, this.view));
    const end = sorted.length ? timeNear(sorted[sorted.length - 1], this.view) / 1e6 : 1;
    for (const event of sorted) {
      const x = timeNear(event, this.view) / 1e6;
      if (isData(event)) {
        const y = position(event.buffer, event.packet - this.firstPacket());
        points[event.fate === "lost" ? 2 : has(event, "R") ? 1 : 0].push({ x, y, event });
      }
      if (acknowledges(event) && event.fate !== "lost") step(lines[9], x, event.high_seq);
      for (const [name, , buffer, rest] of event.messages) {
        if (name === "GO") {
          points[3].push({ x, y: position(buffer, 0), event });
          allowed = Math.max(allowed, position(buffer + 1, 0));
          step(lines[6], x, allowed);
        } else if (name === "OK") {
          points[4].push({ x, y: position(buffer + 1, 0), event });
          confirmed.add(buffer);
          while (confirmed.has(this.base + run)) run += 1;
          step(lines[7], x, run * perBuffer);
        } else if (name === "RESEND") {
          for (const packet of rest) points[5].push({ x, y: position(buffer, packet - this.firstPacket()), event });
        }
      }
    }
    for (const line of lines) if (line.length) line.push([end, line[line.length - 1][1]]);
    lines[8] = this.envelope(sorted, position);
    return { points, lines };
  }

  /** Packets of a buffer are numbered from 0 or from 1, as the implementation likes. */
  firstPacket() {
    const numbers = this.detail.events.filter(isData).map((one) => one.packet);
    return numbers.length && Math.min(...numbers) > 0 ? 1 : 0;
  }

  /** How far the sender may be at the agreed pace: a burst in each interval, from the first packet of each run of new
   * data. Null separates runs: a pause, or a step back to older data. */
  envelope(sorted, position) {
    let { burst_size: burst, burst_interval_ms: interval } = this.detail.terms;
    const line = [];
    if (!burst || !interval) return line;
    let run = null;
    const finish = () => run && line.push([run.until, run.reach], [run.until, null]);
    for (const event of sorted) {
      for (const [name, , , rest] of event.messages) if (name === "OK" && rest[0] && rest[1]) [burst, interval] = rest;
      if (!isData(event) || has(event, "C")) continue;
      const x = timeNear(event, this.view) / 1e6;
      const at = position(event.buffer, event.packet - this.firstPacket()) + 1;
      if (!run || x - run.last > (1.5 * interval) / 1e3 || at <= run.at) {
        finish();
        run = { next: x + interval / 1e3, reach: at - 1 + burst, at, last: x, until: x };
        line.push([x, run.reach]);
      }
      while (run.next <= x) {
        line.push([run.next, run.reach], [run.next, run.reach + burst]);
        run.reach += burst;
        run.next += interval / 1e3;
      }
      Object.assign(run, { last: x, at, until: x });
    }
    finish();
    return line;
  }

  /** uPlot wants one row of x for all series. */
  rebuild() {
    const width = this.chart.clientWidth;
    if (!width) return;
    const { points, lines } = this.collect();
    this.points = points;
    this.lines = lines;
    const known = points.flat();
    const xs = [...known.map((one) => one.x), ...lines.flat().map((one) => one[0])];
    const ys = [...known.map((one) => one.y), ...lines.slice(6, 9).flat().map((one) => one[1] ?? 0)];
    const seqs = lines[9].map((one) => one[1]);
    this.range = { x: padded(xs, 0.02), y: padded(ys, 0.05), seq: padded(seqs, 0.1) };
    if (this.plot) this.plot.destroy();
    const axis = { stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), width: 1 }, font: "11px system-ui,sans-serif" };
    const spare = (side) => ({ ...axis, ...side });
    this.plot = new uPlot(
      {
        width,
        height: width < 520 ? 280 : 380,
        legend: { show: false },
        cursor: { drag: { x: true, y: true, uni: 20 }, points: { show: false } },
        scales: {
          x: { time: false, range: (_u, low, high) => (this.zoomed ? [low, high] : this.range.x) },
          y: { range: (_u, low, high) => (this.zoomed ? [low, high] : this.range.y) },
          seq: { range: () => this.range.seq },
        },
        axes: [
          spare({ label: "seconds", labelSize: 18, labelFont: axis.font, size: 34 }),
          spare({ scale: "y", label: `packet of the transfer (${this.perBuffer} in a buffer)`, labelSize: 18, labelFont: axis.font, size: 46 }),
          ...(seqs.length ? [spare({ scale: "seq", side: 1, grid: { show: false }, size: 34, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000] })] : []),
        ],
        series: [{}, { scale: "y", show: true, points: { show: false }, stroke: "transparent" }, { scale: "seq", points: { show: false }, stroke: "transparent" }],
        hooks: { init: [(u) => this.listen(u)], draw: [(u) => this.paint(u)], setCursor: [(u) => this.hover(u)] },
      },
      [this.range.x, this.range.y, this.range.seq],
      this.chart,
    );
    this.drawLegend();
  }

  listen(u) {
    u.over.addEventListener("wheel", (turned) => {
      turned.preventDefault();
      const box = u.over.getBoundingClientRect();
      this.zoom(turned.deltaY < 0 ? ZOOM : 1 / ZOOM, turned.clientX - box.left, turned.clientY - box.top, turned.shiftKey);
    }, { passive: false });
    let down = null;
    u.over.addEventListener("pointerdown", (pressed) => (down = [pressed.clientX, pressed.clientY]));
    u.over.addEventListener("click", (clicked) => {
      if (down && Math.hypot(clicked.clientX - down[0], clicked.clientY - down[1]) > 5) return;
      const box = u.over.getBoundingClientRect();
      const near = this.nearest(clicked.clientX - box.left, clicked.clientY - box.top);
      if (near) this.select(near.event.index);
    });
    u.over.addEventListener("mousedown", () => (this.zoomed = true));
    u.over.addEventListener("dblclick", () => this.reset());
    u.over.addEventListener("pointerleave", () => tooltip(null));
  }

  zoom(factor, left = this.plot.over.clientWidth / 2, top = this.plot.over.clientHeight / 2, onlyX = false) {
    this.zoomed = true;
    const u = this.plot;
    u.batch(() => {
      for (const [scale, at] of onlyX ? [["x", left]] : [["x", left], ["y", top]]) {
        const { min, max } = u.scales[scale];
        const middle = u.posToVal(at, scale);
        u.setScale(scale, { min: middle - (middle - min) * factor, max: middle + (max - middle) * factor });
      }
    });
  }

  reset() {
    this.zoomed = false;
    this.plot.batch(() => {
      this.plot.setScale("x", { min: this.range.x[0], max: this.range.x[1] });
      this.plot.setScale("y", { min: this.range.y[0], max: this.range.y[1] });
    });
  }

  nearest(left, top) {
    let best = null;
    let least = HIT_PX;
    for (const [number, series] of this.points.entries()) {
      if (this.hidden.has(number)) continue;
      for (const point of series) {
        const away = Math.hypot(this.plot.valToPos(point.x, "x") - left, this.plot.valToPos(point.y, "y") - top);
        if (away < least) [best, least] = [point, away];
      }
    }
    return best;
  }

  hover(u) {
    const { left, top } = u.cursor;
    if (left < 0 || !this.plot) return;
    const near = this.nearest(left, top);
    const box = u.over.getBoundingClientRect();
    u.over.style.cursor = near ? "pointer" : "crosshair";
    tooltip(near ? fieldsOf(this.detail, near.event) : null, box.left + left, box.top + top);
  }

  paint(u) {
    this.plot = u;
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const ratio = devicePixelRatio;
    for (const [number, series] of SERIES.entries()) {
      if (this.hidden.has(number)) continue;
      ctx.strokeStyle = ctx.fillStyle = colour(series.colour);
      ctx.lineWidth = (series.line ? 1.3 : 1.6) * ratio;
      ctx.setLineDash((series.dash || []).map((one) => one * ratio));
      if (series.line) this.paintLine(ctx, this.lines[number], series.scale || "y");
      ctx.setLineDash([]);
      for (const point of this.points[number]) {
        shape(ctx, series.shape, u.valToPos(point.x, "x", true), u.valToPos(point.y, "y", true), 3.4 * ratio);
      }
    }
    this.paintMarked(ctx, ratio);
    ctx.restore();
  }

  paintLine(ctx, line, scale) {
    ctx.beginPath();
    let pen = false;
    for (const [x, y] of line) {
      if (y === null) pen = false;
      else {
        const [left, top] = [this.plot.valToPos(x, "x", true), this.plot.valToPos(y, scale, true)];
        pen ? ctx.lineTo(left, top) : ctx.moveTo(left, top);
        pen = true;
      }
    }
    ctx.stroke();
  }

  /** The deciding frame as a line through the plot, the selected one as a ring. */
  paintMarked(ctx, ratio) {
    const { events, deciding } = this.detail;
    const u = this.plot;
    if (deciding >= 0 && timeNear(events[deciding], this.view) !== null) {
      const left = u.valToPos(timeNear(events[deciding], this.view) / 1e6, "x", true);
      ctx.strokeStyle = colour("fail");
      ctx.lineWidth = 1.2 * ratio;
      ctx.beginPath();
      ctx.moveTo(left, u.bbox.top);
      ctx.lineTo(left, u.bbox.top + u.bbox.height);
      ctx.stroke();
    }
    for (const point of this.points.flat()) {
      if (point.event.index !== this.selected) continue;
      ctx.strokeStyle = colour("ink");
      ctx.lineWidth = 2 * ratio;
      ctx.beginPath();
      ctx.arc(u.valToPos(point.x, "x", true), u.valToPos(point.y, "y", true), 8 * ratio, 0, 2 * Math.PI);
      ctx.stroke();
    }
  }

  drawLegend() {
    this.legend.replaceChildren(
      ...SERIES.map((series, number) => {
        if (!this.points[number].length && !this.lines[number].length) return null;
        return make("button", {
          type: "button", "aria-pressed": `${!this.hidden.has(number)}`, style: `--own:var(--${series.colour})`, class: series.line ? "as-line" : `as-${series.shape}`,
          onclick: () => {
            this.hidden.has(number) ? this.hidden.delete(number) : this.hidden.add(number);
            this.plot.redraw(false);
            this.drawLegend();
          },
        }, series.name);
      }).filter(Boolean),
    );
  }

  show(index) {
    this.selected = index;
    if (this.plot) this.plot.redraw(false);
  }

  resize() {
    const width = this.chart.clientWidth;
    if (!this.plot) this.rebuild();
    else if (width && Math.abs(width - this.plot.width) > 1) this.plot.setSize({ width, height: this.plot.height });
  }
}

function largestPacket(events) {
  return Math.max(0, ...events.filter(isData).map((event) => event.packet));
}

function padded(values, share) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (low > high) return [0, 1];
  const spare = (high - low || 1) * share;
  return [low - spare, high + spare];
}

function shape(ctx, name, x, y, size) {
  ctx.beginPath();
  if (name === "tick") {
    ctx.moveTo(x, y - size);
    ctx.lineTo(x, y + size);
    ctx.stroke();
    ctx.fillRect(x - size / 2, y - size / 2, size, size);
  } else if (name === "square") {
    ctx.strokeRect(x - size, y - size, 2 * size, 2 * size);
  } else if (name === "cross") {
    ctx.moveTo(x - size, y - size);
    ctx.lineTo(x + size, y + size);
    ctx.moveTo(x + size, y - size);
    ctx.lineTo(x - size, y + size);
    ctx.stroke();
  } else if (name === "ring") {
    ctx.arc(x, y, size, 0, 2 * Math.PI);
    ctx.stroke();
  } else {
    const up = name === "up" ? -1 : 1;
    ctx.moveTo(x - size, y - up * size);
    ctx.lineTo(x + size, y - up * size);
    ctx.lineTo(x, y + up * size);
    ctx.closePath();
    ctx.fill();
  }
}
