// SPDX-License-Identifier: GPL-2.0-or-later
// The charts of an experiment: each figure holds what it shows as JSON, uPlot draws it.

const PALETTE = ["data", "again", "ok", "resend", "go", "high", "pace", "setup"];
const STEP = 0.75; // of the range, for each turn of the wheel
const HEIGHT = 300; // px

/** One row of x for all series, as uPlot wants it: where a series has no point, undefined, and lines go on. */
function joined(series) {
  const tables = series.map(({ points }) => {
    const sorted = [...points].sort((a, b) => a[0] - b[0]);
    return [sorted.map((point) => point[0]), sorted.map((point) => point[1])];
  });
  return uPlot.join(tables);
}

/** Bars from each point's x to x + `width`, as the SVG has them. */
function bars(width) {
  return (u, number, first, last) => {
    const fill = new Path2D();
    const zero = u.valToPos(0, "y", true);
    for (let at = first; at <= last; at++) {
      const [x, y] = [u.data[0][at], u.data[number][at]];
      if (y === null || y === undefined) continue;
      const [left, right, top] = [u.valToPos(x, "x", true), u.valToPos(x + width, "x", true), u.valToPos(y, "y", true)];
      fill.rect(left, Math.min(top, zero), right - left, Math.abs(zero - top));
    }
    return { fill, stroke: null };
  };
}

function looks({ name, kind, width, radius }, number) {
  const stroke = colour(PALETTE[number % PALETTE.length]);
  const look = { label: name, stroke, width: 1.4, spanGaps: true, points: { show: false } };
  if (kind === "step") look.paths = uPlot.paths.stepped({ align: 1 });
  if (kind === "bars") Object.assign(look, { paths: bars(width), fill: stroke });
  if (kind === "dots") Object.assign(look, { paths: () => null, points: { show: true, size: 1 + 2 * radius, fill: stroke, width: 0 } });
  return look;
}

function draw(figure) {
  const chart = JSON.parse(figure.dataset.chart);
  const shown = chart.series.filter((one) => one.points.length);
  if (!shown.length) return null;
  const axis = { stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), width: 1 }, font: "11px system-ui,sans-serif", labelFont: "11px system-ui,sans-serif", labelSize: 18 };
  const low = Math.min(0, ...shown.map((one) => one.points.reduce((least, point) => Math.min(least, point[1]), 0)));
  const bar = Math.max(...shown.map((one) => (one.kind === "bars" ? one.width : 0)));
  const whole = { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] }; // bars stand at numbers of rows
  const plot = new uPlot(
    {
      width: figure.clientWidth - 26,
      height: HEIGHT,
      scales: {
        x: { time: false, range: (u, least, most) => (bar && !u.zoomed ? [least - bar / 2, most + 1.5 * bar] : [least, most]) },
        y: { range: (u, least, most) => (u.zoomed ? [least, most] : [low * 1.05, most * 1.05 || 1]) },
      },
      axes: [{ ...axis, ...(bar ? whole : {}), label: chart.x, size: 34 }, { ...axis, label: chart.y, size: 62 }],
      series: [{ label: chart.x }, ...shown.map(looks)],
      cursor: { drag: { x: true, y: true, uni: 20 } },
      hooks: { init: [listen] },
    },
    joined(shown),
    figure,
  );
  return plot;
}

function listen(u) {
  u.over.addEventListener("mousedown", () => (u.zoomed = true));
  u.over.addEventListener("dblclick", () => (u.zoomed = false));
  u.over.addEventListener("wheel", (turned) => {
    turned.preventDefault();
    u.zoomed = true;
    const box = u.over.getBoundingClientRect();
    const factor = turned.deltaY < 0 ? STEP : 1 / STEP;
    u.batch(() => {
      for (const [scale, at] of [["x", turned.clientX - box.left], ["y", turned.clientY - box.top]]) {
        const { min, max } = u.scales[scale];
        const middle = u.posToVal(at, scale);
        u.setScale(scale, { min: middle - (middle - min) * factor, max: middle + (max - middle) * factor });
      }
    });
  }, { passive: false });
}

const figures = [...document.querySelectorAll("figure")];
let plots = [];

function drawAll() {
  for (const plot of plots) plot?.destroy();
  colours.clear();
  plots = figures.map(draw);
}

drawAll();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
addEventListener("resize", () => plots.forEach((plot, number) => plot?.setSize({ width: figures[number].clientWidth - 26, height: HEIGHT })));
