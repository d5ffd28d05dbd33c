// Draws the page of `acprun --report` from the report in the element "report",
// whose members stand in docs/observability.md. It loads nothing and stores
// nothing. Each picture has a legend, a tool tip for pointer and arrow keys, and
// a table with the same numbers.
"use strict";

const report = JSON.parse(document.getElementById("report").textContent);
const ranks = report.ranks.filter((rank) => rank.counted);
const SVG = "http://www.w3.org/2000/svg";
const MOST_SQUARES = 128; // rows and columns of a picture
const MOST_TABLE_ROWS = 1000;
// A picture has its own units, and the browser scales it to its place. On a narrow
// screen it has fewer units, so that its texts stay legible.
const narrow = matchMedia("(max-width: 640px)");
const pictureWidth = () => (narrow.matches ? 380 : 660);
// Colours that differ in brightness as well, so that they can be told apart
// without hue; the last is for what is left.
const COLOURS = ["#0b6fa4", "#e08e0b", "#3f8f4f", "#c2417c", "#7a5cc2", "#8a8f94"];

// --- small helpers ----------------------------------------------------------

/** Makes an element with attributes, and with texts or elements inside. */
function make(name, attributes = {}, ...inside) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...inside);
  return element;
}

function draw(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function section(id, title, explanation) {
  const place = document.getElementById(id);
  place.replaceChildren(make("h2", {}, title), make("p", { class: "soft" }, explanation));
  return place;
}

const count = (value) => value.toLocaleString("en-US");
const several = (value, name) => `${count(value)} ${name}${value === 1 ? "" : "s"}`;
const seconds = (value) => (value < 0.001 ? `${(value * 1e6).toFixed(1)} µs`
  : value < 1 ? `${(value * 1e3).toFixed(2)} ms` : `${value.toFixed(2)} s`);
const percent = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(1)} %` : "-");

function amount(value, unit) {
  if (unit !== "bytes") return count(value);
  const names = ["B", "kB", "MB", "GB", "TB"];
  let power = 0;
  for (; value >= 1000 && power < names.length - 1; ++power) value /= 1000;
  return `${power ? value.toFixed(1) : value} ${names[power]}`;
}

/** A table that scrolls by keyboard, too. Rows are arrays of texts. */
function table(head, rows, words = false) {
  const shown = rows.slice(0, MOST_TABLE_ROWS);
  const line = (cells, name) => make("tr", {}, ...cells.map((cell) => make(name, {}, String(cell))));
  const box = make("div", { class: "table", tabindex: 0, role: "region", "aria-label": head.join(", ") },
    make("table", words ? { class: "words" } : {}, make("thead", {}, line(head, "th")),
      make("tbody", {}, ...shown.map((row) => line(row, "td")))));
  if (shown.length < rows.length) {
    box.append(make("p", { class: "soft" }, `${count(rows.length - shown.length)} smaller rows are left out.`));
  }
  return box;
}

function beside(picture, numbers) {
  return make("div", { class: "beside" }, make("div", { class: "picture" }, ...picture), numbers);
}

const tip = document.getElementById("tip");
// The picture that shows the tip. The pointer may leave another one later, since
// the page scrolls to a picture that gets the focus.
let tipOwner = null;

function showTip(owner, text, x, y) {
  tipOwner = owner;
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - box.width - 4))}px`;
  tip.style.top = `${y + 16 + box.height > innerHeight ? Math.max(4, y - box.height - 8) : y + 16}px`;
}

function hideTip(owner) {
  if (owner === tipOwner) tip.hidden = true;
}

/**
 * Tool tips of a picture. `at(x, y)` is the mark under a point of the picture,
 * or null. `move(mark, key)` is the mark that an arrow key leads to. A mark has
 * x, y, width, height and text.
 */
function addTips(svg, at, move) {
  let current = null;
  const cursor = draw("rect", { class: "cursor", visibility: "hidden" });
  svg.append(cursor);
  const show = (mark, x, y) => {
    current = mark;
    for (const key of ["x", "y", "width", "height"]) cursor.setAttribute(key, mark[key]);
    cursor.setAttribute("visibility", "visible");
    showTip(svg, mark.text, x, y);
  };
  const leave = () => { cursor.setAttribute("visibility", "hidden"); hideTip(svg); };
  const showInPlace = (mark) => {
    const box = svg.getBoundingClientRect();
    const scale = box.width / svg.viewBox.baseVal.width;
    show(mark, box.left + (mark.x + mark.width) * scale, box.top + (mark.y + mark.height) * scale);
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    const mark = at((event.clientX - box.left) * scale, (event.clientY - box.top) * scale);
    if (mark) show(mark, event.clientX, event.clientY);
    else leave();
  });
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("blur", leave);
  svg.addEventListener("focus", () => { if (svg.matches(":focus-visible")) showInPlace(move(current, "")); });
  svg.addEventListener("keydown", (event) => {
    if (event.key === "Escape") leave();
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    showInPlace(move(current, event.key));
  });
}

// --- groups of ranks ---------------------------------------------------------

/** A large job is drawn by its hosts, or by blocks of ranks on few hosts. */
function groupings() {
  const all = {};
  const of = report.ranks.length;
  if (of <= MOST_SQUARES) {
    all.rank = { names: report.ranks.map((rank) => `rank ${rank.rank}`), index: (rank) => rank };
  }
  if (report.hosts.length > 1 && report.hosts.length <= MOST_SQUARES) {
    all.host = { names: report.hosts.map((host) => `host ${host}`), index: (rank) => report.ranks[rank].host };
  }
  if (of > MOST_SQUARES) {
    const size = Math.ceil(of / 64);
    const names = [];
    for (let first = 0; first < of; first += size) {
      names.push(`ranks ${first}-${Math.min(of, first + size) - 1}`);
    }
    all.block = { names, index: (rank) => Math.floor(rank / size) };
  }
  return all;
}

const grouped = groupings();
const firstGrouping = grouped.rank ? "rank" : grouped.host ? "host" : "block";

// --- head -------------------------------------------------------------------

function drawHead() {
  const head = document.getElementById("head");
  head.replaceChildren(
    make("p", {}, make("code", {}, report.program)),
    make("p", report.status ? { class: "bad" } : {}, `Status ${report.status}: ${report.end}`),
    make("p", { class: "soft" }, `${several(report.job_ranks, "rank")} on ${several(report.hosts.length, "host")}, `
      + `${seconds(report.elapsed_s)}, acprun ${report.version}, process ${report.acprun}`
      + (ranks.length < report.job_ranks ? `. Ranks that have counted nothing: ${count(report.job_ranks - ranks.length)}` : "")));
  document.title = `acprun: ${report.program}`;
}

// --- traffic ----------------------------------------------------------------

const chosen = { unit: "bytes", kind: "all", way: "all", by: firstGrouping };

/** The cells that the controls choose, as a map from "row column" to a sum. */
function cells() {
  const groups = grouped[chosen.by];
  const sums = new Map();
  for (const rank of ranks) {
    for (const [peer, way, kind, operations, bytes] of rank.traffic) {
      if (peer === null || (chosen.kind !== "all" && kind !== chosen.kind)
        || (chosen.kind === "all" && kind === "message") || (chosen.way !== "all" && way !== chosen.way)) continue;
      const row = groups.index(rank.rank);
      const column = groups.index(peer);
      const key = row * groups.names.length + column;
      const cell = sums.get(key) || { row, column, bytes: 0, operations: 0 };
      cell.bytes += bytes;
      cell.operations += operations;
      sums.set(key, cell);
    }
  }
  return sums;
}

function chooser(name, label, values) {
  const select = make("select", { id: `choose-${name}` },
    ...values.map(([value, text]) => make("option", { value }, text)));
  select.value = chosen[name];
  select.addEventListener("change", () => { chosen[name] = select.value; drawTraffic(); document.getElementById(`choose-${name}`).focus(); });
  return make("label", {}, `${label} `, select);
}

/** Small values stay visible: the colour goes by the logarithm. */
function shade(value, least, most) {
  const part = most > least ? Math.log(value / least) / Math.log(most / least) : 1;
  return `color-mix(in oklab, var(--low), var(--high) ${Math.round(100 * part)}%)`;
}

function heatMap(sums) {
  const names = grouped[chosen.by].names;
  const size = names.length;
  const wide = pictureWidth();
  const left = 96;
  const side = wide - 20 - left;
  const step = side / size;
  const svg = draw("svg", { viewBox: `0 0 ${wide} ${side + 44}`, tabindex: 0, role: "img", id: "heat-map",
    "aria-label": "Heat map. Arrow keys move over the cells." });
  const values = [...sums.values()].map((cell) => cell[chosen.unit]).filter((value) => value > 0);
  const least = values.reduce((a, b) => Math.min(a, b), Infinity);
  const most = values.reduce((a, b) => Math.max(a, b), 0);
  for (const cell of sums.values()) {
    if (!cell[chosen.unit]) continue;
    svg.append(draw("rect", { class: "cell", x: left + cell.column * step, y: 34 + cell.row * step,
      width: Math.max(step - (step > 6 ? 1 : 0), 1), height: Math.max(step - (step > 6 ? 1 : 0), 1),
      style: `fill:${shade(cell[chosen.unit], least, most)}`, "data-value": cell[chosen.unit] }));
  }
  const every = Math.ceil(size / (narrow.matches ? 8 : 16));
  for (let i = 0; i < size; i += every) {
    svg.append(draw("text", { x: left - 5, y: 34 + (i + 0.5) * step + 4, "text-anchor": "end" }, shorten(names[i])));
    if (!narrow.matches || i % (2 * every) === 0) {
      svg.append(draw("text", { x: left + (i + 0.5) * step, y: 30, "text-anchor": "middle" }, lastPart(names[i])));
    }
  }
  svg.append(draw("text", { x: 4, y: 12 }, "from, downwards; to the peer, rightwards"));
  const mark = (row, column) => {
    const cell = sums.get(row * size + column) || { bytes: 0, operations: 0 };
    return { row, column, x: left + column * step, y: 34 + row * step, width: step, height: step,
      text: `${names[row]}, peer ${names[column]}: ${amount(cell.bytes, "bytes")}, ${count(cell.operations)} operations` };
  };
  addTips(svg, (x, y) => {
    const column = Math.floor((x - left) / step);
    const row = Math.floor((y - 34) / step);
    return row >= 0 && row < size && column >= 0 && column < size ? mark(row, column) : null;
  }, (from, key) => {
    if (!from) return mark(0, 0);
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[key] || [0, 0];
    return mark(Math.min(size - 1, Math.max(0, from.row + down)), Math.min(size - 1, Math.max(0, from.column + right)));
  });
  const scale = () => (least === most
    ? make("span", {}, make("i", { style: "background:var(--high)" }), `${amount(most, chosen.unit)} each`)
    : make("span", {}, `${amount(least, chosen.unit)} `, make("i", { class: "scale" }), ` ${amount(most, chosen.unit)}, by the logarithm`));
  const legend = make("div", { class: "legend" }, values.length ? scale() : "no traffic of this choice",
    make("span", {}, "no colour: none"));
  return [legend, svg];
}

/** "rank 3" becomes "3", "host 10.88.0.2" becomes "…8.0.2". */
function lastPart(name) {
  const part = name.replace(/^.* /, "");
  return part.length > 7 ? `…${part.slice(-6)}` : part;
}

const shorten = (name) => (name.length > 15 ? `${name.slice(0, 14)}…` : name);

function drawTraffic() {
  hideTip(tipOwner); // its picture is about to be replaced
  const place = section("traffic", "Traffic between ranks", "Who has put to, got from, or changed the memory of whom. "
    + "Messages of channels are moved by puts and gets, so \"all operations\" leaves the messages out.");
  const used = (index) => [...new Set(ranks.flatMap((rank) => rank.traffic.map((row) => row[index])))].sort();
  place.append(make("div", { class: "controls" },
    chooser("unit", "show", [["bytes", "bytes"], ["operations", "operations"]]),
    chooser("kind", "of", [["all", "all operations"], ...used(2).map((kind) => [kind, `${kind}s`])]),
    chooser("way", "by", [["all", "all ways"], ...used(1).map((way) => [way, way])]),
    chooser("by", "rows are", Object.keys(grouped).map((by) => [by, by === "block" ? "blocks of ranks" : `${by}s`]))));
  const sums = cells();
  const names = grouped[chosen.by].names;
  const rows = [...sums.values()].sort((a, b) => b[chosen.unit] - a[chosen.unit]);
  const sum = rows.reduce((total, cell) => total + cell[chosen.unit], 0);
  place.append(make("p", { id: "traffic-sum", "data-sum": sum }, `In all ${amount(sum, chosen.unit)}${chosen.unit === "bytes" ? "" : " operations"} in ${count(rows.length)} cells`),
    beside(heatMap(sums), table(["from", "peer", "bytes", "operations"],
      rows.map((cell) => [names[cell.row], names[cell.column], count(cell.bytes), count(cell.operations)]))));
}

// --- waits ------------------------------------------------------------------

/** Bars with parts. `bars` have a name and parts { call, value, text }. */
function barChart(id, label, bars, colourOf) {
  const high = Math.max(4, Math.min(18, 1100 / bars.length));
  const wide = pictureWidth();
  const left = 110;
  const most = bars.reduce((a, bar) => Math.max(a, bar.parts.reduce((sum, part) => sum + part.value, 0)), 0) || 1;
  const svg = draw("svg", { viewBox: `0 0 ${wide} ${Math.max(60, bars.length * high + 30)}`, tabindex: 0, role: "img", id, "aria-label": label });
  const marks = [];
  const every = Math.ceil(12 / high);
  bars.forEach((bar, row) => {
    let x = left;
    if (row % every === 0) svg.append(draw("text", { x: left - 5, y: row * high + high / 2 + 4, "text-anchor": "end" }, shorten(bar.name)));
    bar.parts.forEach((part) => {
      const width = (part.value / most) * (wide - 10 - left);
      const mark = { row, x, y: row * high, width: Math.max(width, 0.5), height: high - (high > 5 ? 1 : 0), text: part.text };
      marks.push(mark);
      svg.append(draw("rect", { class: "bar", x, y: mark.y, width: mark.width, height: mark.height, style: `fill:${colourOf(part.call)}`, "data-value": part.value }));
      x += width;
    });
  });
  svg.append(draw("text", { x: left, y: bars.length * high + 20 }, "0"),
    draw("text", { x: wide - 10, y: bars.length * high + 20, "text-anchor": "end" }, seconds(most)));
  addTips(svg, (x, y) => marks.find((mark) => x >= mark.x && x <= mark.x + mark.width && y >= mark.y && y <= mark.y + mark.height) || null,
    (from, key) => {
      const at = marks.indexOf(from);
      if (at < 0) return marks[0] || { x: 0, y: 0, width: 0, height: 0, text: "no waits" };
      if (key === "ArrowLeft" || key === "ArrowRight") return marks[Math.min(marks.length - 1, Math.max(0, at + (key === "ArrowRight" ? 1 : -1)))];
      const row = from.row + (key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0);
      return marks.find((mark) => mark.row === row) || from;
    });
  return svg;
}

function drawWaits() {
  const groups = grouped[firstGrouping];
  const sums = groups.names.map(() => new Map());
  const members = groups.names.map(() => 0);
  const totals = new Map();
  for (const rank of ranks) {
    const row = groups.index(rank.rank);
    ++members[row];
    for (const call of rank.calls) {
      sums[row].set(call.name, (sums[row].get(call.name) || 0) + call.waited_s);
      const total = totals.get(call.name) || { waits: 0, waited: 0, peers: new Map() };
      total.waits += call.waits;
      total.waited += call.waited_s;
      if (call.peer !== null) total.peers.set(call.peer, (total.peers.get(call.peer) || 0) + call.peer_s);
      totals.set(call.name, total);
    }
  }
  const names = [...totals.keys()].sort((a, b) => totals.get(b).waited - totals.get(a).waited);
  const colourOf = (name) => COLOURS[Math.min(COLOURS.length - 1, names.indexOf(name))];
  const each = firstGrouping === "rank" ? "" : ", in the mean of its ranks";
  const bars = groups.names.map((name, row) => ({ name, parts: names.filter((call) => sums[row].get(call)).map((call) => {
    const value = sums[row].get(call) / members[row];
    return { call, value, text: `${name}: ${seconds(value)} in ${call}${each}` };
  }) }));
  const elapsed = ranks.reduce((sum, rank) => sum + rank.elapsed_s, 0);
  const place = section("waits", "Waiting", `Time in functions of ACP that wait${each}. Threads that wait at the same time add theirs.`);
  place.append(beside([
    make("div", { class: "legend" }, ...names.slice(0, COLOURS.length).map((name, i) => make("span", {},
      make("i", { style: `background:${COLOURS[i]}` }), i === COLOURS.length - 1 && names.length > COLOURS.length ? "other functions" : name))),
    barChart("wait-bars", "Waits by rank and function. Arrow keys move over the bars.", bars, colourOf)],
  table(["function", "waits", "time", "of all", "mostly for"], names.map((name) => {
    const total = totals.get(name);
    const peer = [...total.peers].sort((a, b) => b[1] - a[1])[0];
    return [name, count(total.waits), seconds(total.waited), percent(total.waited, elapsed), peer ? `rank ${peer[0]}` : "-"];
  }))));
}

// --- tables -----------------------------------------------------------------

/** The ranks that others wait for, and those that compute longest. */
function drawSlowest() {
  const place = section("slowest", "Slowest ranks", "The ranks that compute longest. \"Awaited\" is the time that other ranks have waited for this one alone.");
  const awaited = new Map();
  for (const rank of ranks) {
    for (const call of rank.calls) if (call.peer !== null) awaited.set(call.peer, (awaited.get(call.peer) || 0) + call.peer_s);
  }
  const rows = ranks.map((rank) => ({ rank, computing: rank.elapsed_s - rank.waited_s }))
    .sort((a, b) => b.computing - a.computing).slice(0, 20);
  const bars = rows.map(({ rank, computing }) => ({ name: `rank ${rank.rank}`, parts: [
    { call: "computing", value: computing, text: `rank ${rank.rank} computes for ${seconds(computing)}` },
    { call: "waiting", value: rank.waited_s, text: `rank ${rank.rank} waits for ${seconds(rank.waited_s)}` }] }));
  const colourOf = (name) => (name === "computing" ? COLOURS[0] : COLOURS[5]);
  place.append(beside([make("div", { class: "legend" }, ...["computing", "waiting"].map((name) => make("span", {},
    make("i", { style: `background:${colourOf(name)}` }), name))),
  barChart("slow-bars", "Computing and waiting of the slowest ranks. Arrow keys move over the bars.", bars, colourOf)],
  table(["rank", "host", "computing", "waiting", "awaited"], rows.map(({ rank, computing }) => [
    `rank ${rank.rank}`, report.hosts[rank.host], seconds(computing), seconds(rank.waited_s), seconds(awaited.get(rank.rank) || 0)]))));
}

/** What the program and its libraries have counted by acpx_count. */
function drawOwnCounts() {
  const place = section("counts", "Counts of the program", "What the program, or a library that it uses, has counted by names of its own.");
  const sums = new Map();
  for (const rank of ranks) {
    for (const [name, value] of Object.entries(rank.counts || {})) {
      const sum = sums.get(name) || { all: 0, least: value, most: value, leastRank: rank.rank, mostRank: rank.rank };
      sum.all += value;
      if (value < sum.least) Object.assign(sum, { least: value, leastRank: rank.rank });
      if (value > sum.most) Object.assign(sum, { most: value, mostRank: rank.rank });
      sums.set(name, sum);
    }
  }
  if (!sums.size) {
    place.append(make("p", {}, "It has counted nothing."));
    return;
  }
  place.append(table(["count", "of all ranks", "least", "of rank", "most", "of rank"], [...sums].map(([name, sum]) => [
    name, count(sum.all), count(sum.least), sum.leastRank, count(sum.most), sum.mostRank])));
}

function drawPackets() {
  const place = section("packets", "Packets of UDP", "Packets that were sent again point at a network that loses some.");
  const rows = ranks.filter((rank) => rank.udp.sent > 0)
    .sort((a, b) => b.udp.sent_again / b.udp.sent - a.udp.sent_again / a.udp.sent);
  if (!rows.length) {
    place.append(make("p", {}, "No rank has sent a packet over UDP."));
    return;
  }
  const dropped = (udp) => udp.malformed + udp.strays + udp.unknown + udp.corrupt + udp.replayed;
  place.append(table(["rank", "host", "sent", "again", "share", "needlessly", "received", "dropped", "longest round trip"], rows.map((rank) => [
    `rank ${rank.rank}`, report.hosts[rank.host], count(rank.udp.sent), count(rank.udp.sent_again),
    percent(rank.udp.sent_again, rank.udp.sent), count(rank.udp.needless), count(rank.udp.received), count(dropped(rank.udp)),
    seconds(rank.udp.longest_rtt_ns / 1e9)])));
}

function drawPlaces() {
  const place = section("places", "Places, networks and memory", "Processors that acprun has bound each rank to, the ways that its traffic has taken, and its memory.");
  place.append(table(["rank", "host", "process", "processors", "ways", "heap", "registered", "library"], report.ranks.map((rank) => (rank.counted
    ? [`rank ${rank.rank}`, report.hosts[rank.host], rank.pid, rank.cpus, [...new Set(rank.traffic.map((row) => row[1]))].join(", ") || "-",
      amount(rank.heap_bytes, "bytes"), amount(rank.registered_most_bytes, "bytes"), amount(rank.library_bytes, "bytes")]
    : [`rank ${rank.rank}`, report.hosts[rank.host], "-", rank.cpus, "-", "-", "-", "-"])), true));
}

function drawSettings() {
  const place = section("settings", "Settings", "Settings of acprun that differ from their defaults.");
  place.append(table(["setting", "value", "default"], report.settings.map((one) => [one.name, one.value, one.default || "(empty)"]), true));
}

function drawPictures() {
  drawTraffic();
  drawWaits();
  drawSlowest();
}

drawHead();
drawPictures();
narrow.addEventListener("change", drawPictures);
drawOwnCounts();
drawPackets();
drawPlaces();
drawSettings();
document.body.dataset.ready = "yes";
