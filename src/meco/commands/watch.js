"use strict";
// Follows /status: parts are made once and change in place, so that focus and scrolling stay where they are.
const at = id => document.getElementById(id);
const short = v => v === null || v === undefined ? "–" : v === 0 ? "0"
  : (Math.abs(v) < 1e-3 ? Number(v).toExponential(4) : Number(v).toPrecision(6)).replace(/\.(\d*?)0+(?=$|e)/, (_, d) => d && "." + d);
const brief = v => v === null || v === undefined ? "–" : Math.abs(v) < 1e-3 && v ? Number(v).toExponential(1) : short(v);
const safe = s => String(s).replace(/[&<>"]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }[c]));
const span = s => s < 90 ? `${Math.round(s)} s` : s < 5400 ? `${Math.round(s / 60)} min` : `${(s / 3600).toFixed(1)} h`;
const percent = v => v === null ? "–" : `${v > 0 && v < 0.1 ? Number((100 * v).toPrecision(2)) : Math.round(100 * v)} %`;
const W = 560, H = 190, RIGHT = 14, TOP = 26, BOTTOM = 24;
const narrow = () => innerWidth < 560, left = () => narrow() ? 136 : 92;  // room for the numbers beside the axis, in their letters
const charts = new Map();  // by part: what the pointer and the keys read

function change(element, html) {  // only what differs, so that nothing flickers or loses its place
  if (element.made !== html) { element.made = html; element.innerHTML = html; }
}

function part(id, title, whole = false, inside = "main") {
  let section = at(id);
  if (!section) {
    section = document.createElement("section");
    section.id = id;
    section.className = whole ? "whole" : "";
    section.innerHTML = `<h2>${safe(title)}</h2><div class="body"></div>`;
    at(inside).append(section);
  }
  return section.querySelector(".body");
}

function fold(id, title) {  // what only some readers want, behind a line
  if (at(id)) return;
  const details = document.createElement("details");
  details.className = "whole fold";
  details.innerHTML = `<summary>${safe(title)}</summary><div class="parts" id="${id}"></div>`;
  at("main").append(details);
}

// -- curves ----------------------------------------------------------------------------------

function scaleOf(values, share) {
  const low = share ? 0 : Math.min(...values), high = share ? 1 : Math.max(...values);
  const least = Math.min(...values.filter(v => v > 0));
  const log = !share && low >= 0 && high > 50 * least;  // decades where there are any
  const floor = Math.max(least, high * 1e-12), by = v => log ? Math.log10(Math.max(v, floor)) : v;
  const a = by(low), b = by(high);
  return { low, high, log, y: v => TOP + (H - BOTTOM - TOP) * (b > a ? 1 - (by(v) - a) / (b - a) : 0.5) };
}

function curve(id, title, rows, end, kind, what, share = false, inside = "main") {
  const body = part(id, title, false, inside), LEFT = left(), kept = rows.filter(r => r[1] !== null && r[1] !== undefined);
  if (!kept.length) { charts.delete(id); change(body, '<p class="soft">none yet</p>'); return; }
  const values = kept.map(r => r[1]), scale = scaleOf(values, share), x = n => LEFT + (W - LEFT - RIGHT) * n / end;
  const path = kept.map((r, i) => `${i ? `H${x(r[0]).toFixed(1)}V` : `M${x(r[0]).toFixed(1)},`}${scale.y(r[1]).toFixed(1)}`).join("");
  const last = kept[kept.length - 1], flat = scale.low === scale.high;
  if (!body.querySelector(".chart")) {
    change(body, '<div class="chart" tabindex="0" role="img"></div><output></output>');
    listen(id, body);
  }
  const chart = body.querySelector(".chart");
  chart.setAttribute("aria-label", `${title}: from ${short(values[0])} to ${short(last[1])}`);
  charts.set(id, { kept, what, x, at: charts.get(id)?.at });
  change(chart, `<svg viewBox="0 0 ${W} ${H}" aria-hidden="true"><path class="axis" d="M${LEFT},${TOP - 6}V${H - BOTTOM}H${W - RIGHT}"/>
    <path class="${kind}" stroke-width="2" d="${path}H${x(last[0]).toFixed(1)}"/><path class="cursor" d=""/>
    ${flat ? "" : `<text x="${LEFT - 6}" y="${TOP + 4}" text-anchor="end">${short(scale.high)}</text>`}
    <text x="${LEFT - 6}" y="${flat ? H / 2 : H - BOTTOM}" text-anchor="end">${short(scale.low)}</text>
    ${scale.log ? `<text x="${LEFT + 6}" y="${TOP - 12}">log scale</text>` : ""}
    <text x="${LEFT}" y="${H - 6}">0</text><text x="${W - RIGHT}" y="${H - 6}" text-anchor="end">${end} evaluations</text></svg>`);
  point(id);
}

function listen(id, body) {
  const chart = body.querySelector(".chart");
  chart.addEventListener("pointermove", event => {
    const box = chart.getBoundingClientRect(), { kept, x } = charts.get(id), px = (event.clientX - box.left) * W / box.width;
    charts.get(id).at = kept.reduce((near, r, i) => Math.abs(x(r[0]) - px) < Math.abs(x(kept[near][0]) - px) ? i : near, 0);
    point(id);
  });
  chart.addEventListener("pointerleave", () => { charts.get(id).at = undefined; point(id); });
  chart.addEventListener("keydown", event => {
    const state = charts.get(id), most = state.kept.length - 1, from = state.at ?? most;
    const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: most, Escape: undefined }[event.key];
    if (!["ArrowLeft", "ArrowRight", "Home", "End", "Escape"].includes(event.key)) return;
    event.preventDefault();
    state.at = to === undefined ? undefined : Math.max(0, Math.min(most, to));
    point(id);
  });
}

function point(id) {  // the cursor and what is said of it: the last value unless one is pointed at
  const { kept, what, x, at: chosen } = charts.get(id), row = kept[Math.min(chosen ?? kept.length - 1, kept.length - 1)];
  const body = at(id).querySelector(".body");
  body.querySelector(".cursor").setAttribute("d", chosen === undefined ? "" : `M${x(row[0]).toFixed(1)},${TOP}V${H - BOTTOM}`);
  body.querySelector("output").textContent = `${what} ${short(row[1])} after ${row[0]} evaluations`;
}

// -- tables and lines ------------------------------------------------------------------------

function table(body, heads, rows, label) {
  if (!body.querySelector(".scroll")) change(body, `<div class="scroll" tabindex="0" role="region" aria-label="${safe(label)}"></div>`);
  const cells = row => row.cells.map((c, i) => i ? `<td>${safe(c)}</td>` : `<th scope="row">${safe(c)}</th>`).join("");
  change(body.querySelector(".scroll"), `<table><thead><tr>${heads.map(h => `<th scope="col">${safe(h)}</th>`).join("")}</tr></thead><tbody>${
    rows.map(row => `<tr class="${row.over ? "over" : ""}">${cells(row)}</tr>`).join("")}</tbody></table>`);
}

const anchor = (i, D) => D < 2 ? "middle" : i === 0 ? "start" : i === D - 1 ? "end" : "middle";  // names stay inside

function across(status) {
  const D = status.variables.length, wide = innerWidth < 700 ? W : 2 * W, x = i => D > 1 ? 30 + (wide - 60) * i / (D - 1) : wide / 2;
  const y = (v, i) => 14 + (H - 46) * (1 - (v - status.drawn[i][0]) / ((status.drawn[i][1] - status.drawn[i][0]) || 1));
  const every = Math.ceil(D / 24);
  const axes = status.variables.map((n, i) => `<path class="axis" d="M${x(i).toFixed(1)},14V${H - 32}"/>` + (i % every ? "" : `<text x="${(x(i) + (D < 2 ? 0 : i === 0 ? -26 : i === D - 1 ? 26 : 0)).toFixed(1)}" y="${H - 14}" text-anchor="${anchor(i, D)}">${safe(n)}</text>`)).join("");
  const line = (p, k) => `<path class="${p.feasible ? "good" : "bad"}" stroke-width="${k ? 1.2 : 3}" opacity="${k ? 0.45 : 1}" d="${p.x.map((v, i) => `${i ? "L" : "M"}${x(i).toFixed(1)},${y(v, i).toFixed(1)}`).join("")}"><title>evaluation ${p.number}: f ${short(p.f)}${p.feasible ? "" : ", infeasible"}</title></path>`;
  return `<svg viewBox="0 0 ${wide} ${H}" role="img" aria-label="the best ${status.points.length} points, each variable between its bounds">${axes}${status.points.map(line).reverse().join("")}</svg>`;
}

function reasons(list) {
  return list.length ? `<ul>${list.map(r => `<li>${safe(r)}</li>`).join("")}</ul>` : "";
}

// -- the two kinds of folder -----------------------------------------------------------------

function showRun(status) {
  const best = status.best, found = !best ? (status.partial ? "no whole answer yet" : "no evaluation has succeeded yet") : best.feasible ? `best feasible f ${short(best.f)}` : "nothing feasible yet";
  const time = status.over ? `ended${status.spent ? ` after ${span(status.spent)}` : ""}` : status.left === null ? "" : `about ${span(status.left)} left at this pace, last answer ${span(status.quiet)} ago`;
  head(status.fun === status.folder ? status.fun : `${status.fun} in ${status.folder}`, `${status.nfev}/${status.budget}`, status.message || `${found}, ${status.nfev} of ${status.budget} evaluations`,
    status.nfev / status.budget, [status.method, `seed ${status.seed}`, time]);
  curve("f", "Best feasible f", status.curve.map(r => [r[0], r[1]]), status.budget, "good", "f");
  curve("nu", "Least violation", status.curve.map(r => [r[0], r[2]]), status.budget, "bad", "violation");
  if (status.constraints.length) table(part("constraints", "Constraints at the best point"), ["name", "value", "violation", "satisfied, last 100", ...(status.partial ? ["told, last 100"] : [])],
    status.constraints.map(c => ({ over: c.violation > 0, cells: [c.name, brief(c.value), brief(c.violation), percent(c.kept), ...(status.partial ? [percent(c.told)] : [])] })), "constraints");
  if (status.partial) change(part("partial", "Partial answers"), `<p>${status.partial} of ${status.nfev} stopped at a violated constraint</p>`);
  const failed = Object.entries(status.failures).map(([k, n]) => `${n} ${k}`).join(", ") || "none";
  const lost = Object.values(status.failures).reduce((a, b) => a + b, 0);
  change(part("failures", "Failed evaluations"), `<p>${safe(failed)}${lost ? ` (${percent(lost / status.nfev)} of the calls)` : ""}</p>${reasons(status.reasons)}`);
  if (status.points.length) {
    change(part("points", "The best designs, each variable between its bounds", true), across(status));
    table(part("best", "The same in numbers", true), ["point", "f", "feasible", ...status.variables],
      status.points.map(p => ({ over: !p.feasible, cells: [`evaluation ${p.number}`, short(p.f), p.feasible ? "yes" : "no", ...p.x.map((v, i) => p.shown?.[i] ?? short(v))] })), "the best designs");
  }
  if (status.steering.length) {
    fold("method", "What the method did");
    for (const told of status.steering) curve(`steer-${told.name}`, told.about, told.curve, status.budget, "steer", told.name, told.share, "method");
  }
}

function grid(of) {
  const size = 18, gap = 120, w = gap + size * of.problems.length, h = 16 + size * of.methods.length;
  const row = (m, j) => `<text x="${gap - 6}" y="${29 + size * j}" text-anchor="end">${safe(m.name)}</text>` + m.cells.map((c, i) =>
    `<g transform="translate(${gap + size * i} ${16 + size * j})"><title>${safe(m.name)} on ${safe(of.problems[i])}: ${percent(c)} of its runs</title><rect class="cell" width="${size - 2}" height="${size - 2}" opacity="${c.toFixed(3)}"/><rect class="rim" width="${size - 2}" height="${size - 2}"/></g>`).join("");
  return `<div class="scroll" tabindex="0" role="region" aria-label="runs made, methods by problems"><svg viewBox="0 0 ${w} ${h}" style="width:${w}px;max-width:none" role="img" aria-label="share of the runs made, a row for each method">
    <text x="${gap}" y="11">${safe(of.problems[0])} … ${safe(of.problems[of.problems.length - 1])}</text>${of.methods.map(row).join("")}</svg></div>`;
}

function showCampaign(status) {
  const time = status.over ? "ended" : status.left === null ? "" : `about ${span(status.left)} left`;
  const last = status.over || status.quiet === null ? "" : `last result ${span(status.quiet)} ago`;
  head(`campaign in ${status.folder}`, `${status.done}/${status.wanted}`, `${status.done} of ${status.wanted} runs${status.failed ? `, ${status.failed} failed` : ""}`,
    (status.done + status.failed) / Math.max(1, status.wanted), [time, last]);
  status.experiments.forEach((e, i) => {
    table(part(`standing-${i}`, e.title, true), ["method", "runs", "failed", "feasible", "seconds a run", "mean rank"], e.methods.map(m => ({
      over: m.failed > 0, cells: [m.name, `${m.done} of ${m.wanted}`, m.failed, percent(m.feasible), m.seconds === null ? "–" : m.seconds.toPrecision(2), short(m.rank ?? null)] })), e.title);
    change(part(`grid-${i}`, "Runs made, each method on each problem", true), grid(e));
  });
  change(part("failures", "Runs that failed", true), reasons(status.reasons) || "<p>none</p>");
}

function head(title, progress, headline, share, facts) {
  at("title").textContent = title;
  document.title = `${progress} ${title}`;
  if (at("headline").textContent !== headline) at("headline").textContent = headline;
  at("progress").value = share;
  at("facts").textContent = facts.filter(Boolean).join(" · ");
}

async function follow() {
  const begun = Date.now();
  let least = 1000;
  try {
    const status = await (await fetch("/status")).json();
    if (status.error) at("headline").textContent = status.error;
    else {
      (status.kind === "run" ? showRun : showCampaign)(status);
      least = status.over ? 5000 : 1000;
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    at("facts").textContent = "the server has stopped; what is shown is the last it told";
    least = 3000;
  }
  setTimeout(follow, Math.max(least, 4 * (Date.now() - begun)));  // a large folder is read a fifth of the time at most
}
follow();
