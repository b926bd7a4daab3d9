// Draws each plot of the page's data with uPlot. All have the same time axis and cursor.
const plots = JSON.parse(document.getElementById("data").textContent) || [];
const sync = uPlot.sync("time");
let drawn = [];

const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function clock(seconds) {
  const h = Math.floor(seconds / 3600), m = Math.floor(seconds % 3600 / 60), s = Math.round(seconds % 60);
  return h + ":" + String(m).padStart(2, "0") + (s ? ":" + String(s).padStart(2, "0") : "");
}

function number(v, unit) {
  if (v == null) return "–";
  if (unit === "s") return v >= 3600 ? +(v / 3600).toFixed(1) + " h" : v >= 60 ? +(v / 60).toFixed(1) + " min" : +v.toFixed(v < 10 ? 1 : 0) + " s";
  if (unit === "$") return "$" + v.toPrecision(3);
  return v >= 1e6 ? +(v / 1e6).toPrecision(3) + "M" : v >= 1e4 ? +(v / 1e3).toPrecision(3) + "k" : String(Math.round(v * 10) / 10);
}

// steps are distances of marks on an axis of seconds.
const steps = [0.1, 0.2, 0.5, 1, 2, 5, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

// shade marks the times at which something goes wrong.
const shade = plot => ({
  hooks: {
    drawClear: u => {
      u.ctx.fillStyle = colour("--trouble");
      for (const [from, until] of plot.troubles || []) {
        const left = u.valToPos(from, "x", true), right = u.valToPos(until, "x", true);
        u.ctx.fillRect(left, u.bbox.top, Math.max(1, right - left), u.bbox.height);
      }
    },
  },
});

function draw() {
  for (const u of drawn) u.destroy();
  drawn = plots.map((plot, i) => {
    const into = document.querySelectorAll(".plot")[i];
    const axis = { stroke: colour("--text"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
    const x = plot.category
      ? { ...axis, splits: () => plot.x, values: (u, ticks) => ticks.map(t => plot.category[t] ?? "") }
      : { ...axis, values: (u, ticks) => ticks.map(clock), incrs: steps, space: 70 };
    const line = (s, n) => ({
      label: s.name, stroke: colour("--" + (n % 6 + 1)), width: 2, dash: s.dashed ? [6, 4] : undefined,
      points: { show: Boolean(plot.category) }, scale: s.unit || "y", value: (u, v) => number(v, s.unit),
    });
    const units = [...new Set(plot.series.map(s => s.unit || "y"))];
    return new uPlot({
      width: into.clientWidth, height: 190,
      scales: { x: { time: false, range: plot.category ? () => [-0.5, plot.x.length - 0.5] : undefined },
        ...Object.fromEntries(units.map(unit => [unit, { range: (u, low, high) => [0, Math.max(1e-9, high || 1) * 1.05] }])) },
      axes: [x, ...units.map((unit, n) => ({ ...axis, scale: unit, side: n ? 1 : 3, size: 64, incrs: unit === "s" ? steps : undefined, grid: n ? { show: false } : axis.grid, values: (u, ticks) => ticks.map(t => number(t, unit)) }))],
      series: [{ label: plot.category ? plot.name : "time", value: (u, v) => v == null ? "–" : plot.category ? plot.category[v] : clock(v) }, ...plot.series.map(line)],
      cursor: plot.category ? {} : { sync: { key: sync.key } },
      plugins: [shade(plot)],
    }, [plot.x, ...plot.series.map(s => s.values)], into);
  });
}

draw();
addEventListener("resize", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
addEventListener("beforeprint", () => { document.documentElement.dataset.print = ""; draw(); });
addEventListener("afterprint", () => { delete document.documentElement.dataset.print; draw(); });
