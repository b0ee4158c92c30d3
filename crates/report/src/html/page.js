"use strict";
// What the page gains from a script: a choice of theme, sorting, a filter, and charts that are read and zoomed together.
// Without it everything is there to be read.
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const svgElement = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };

  // A page from a file may be refused storage: then the choice lasts as long as the page.
  const remembered = (theme) => {
    try {
      if (theme === undefined) return localStorage.getItem("rqps-theme") ?? "";
      localStorage.setItem("rqps-theme", theme);
    } catch { /* as above */ }
    return theme ?? "";
  };
  const theme = byId("theme");
  const applyTheme = () => {
    if (theme.value) root.dataset.theme = theme.value;
    else delete root.dataset.theme;
  };
  theme.value = remembered();
  applyTheme();
  theme.addEventListener("change", () => { remembered(theme.value); applyTheme(); });

  // A link to something folded away unfolds it, also in browsers that do not do so themselves.
  const unfold = () => {
    const target = byId(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  if (location.hash) unfold();
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"], a[*|href^="#"]');
    const href = link && (link.getAttribute("href") ?? link.getAttributeNS("http://www.w3.org/1999/xlink", "href"));
    if (href && href === location.hash) unfold();
  });
  const setOpen = (open) => all("details.test").forEach((test) => { test.open = open; });
  byId("open-all")?.addEventListener("click", () => setOpen(true));
  byId("close-all")?.addEventListener("click", () => setOpen(false));
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details:not([open])");
    folded.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((part) => { part.open = false; }));

  // Sorting: up, down, and back to the groups.
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    const text = cell.dataset.sort ?? cell.textContent.trim();
    const number = text === "inf" ? Infinity : Number.parseFloat(text);
    return cell.dataset.sort !== undefined || !Number.isNaN(Number(text)) ? number : text;
  };
  const compare = (a, b) => {
    const order = [Number.isNaN(a), Number.isNaN(b)];
    if (order[0] || order[1]) return order[0] - order[1];
    return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  };
  const sortable = (table) => {
    const bodies = all("tbody", table).map((body) => [body, [...body.rows]]);
    const heads = [...table.tHead.rows].at(-1).cells;
    const restore = () => bodies.forEach(([body, rows]) => body.append(...rows));
    const sort = (head, column, direction) => {
      for (const other of heads) other.removeAttribute("aria-sort");
      restore();
      all(".group", table).forEach((row) => { row.hidden = Boolean(direction); });
      if (!direction) return;
      head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      const rows = bodies.flatMap(([, its]) => its).filter((row) => !row.classList.contains("group"));
      rows.sort((a, b) => compare(valueOf(a, column), valueOf(b, column)) * direction);
      bodies[0][0].append(...rows);
    };
    [...heads].forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const next = { ascending: -1, descending: 0 }[head.getAttribute("aria-sort")] ?? 1;
        sort(head, column, next);
      });
    });
  };
  all("table.sortable").forEach(sortable);

  // Every table can be copied as it is shown: sorted, and without hidden rows.
  const textOf = (cell) => {
    const copied = cell.cloneNode(true);
    // On the page it is a line of its own.
    for (const part of copied.querySelectorAll(".interval")) part.textContent = ` (${part.textContent})`;
    return copied.textContent.replace(/\s+/g, " ").trim();
  };
  const cellsOf = (row) => [...row.cells].flatMap((cell) => [textOf(cell), ...Array(cell.colSpan - 1).fill("")]);
  // Of two rows of heads the second names the first's, for readers by ear.
  const isUpperHead = (table, row) => row.parentElement === table.tHead && row !== table.tHead.rows[table.tHead.rows.length - 1];
  const rowsOf = (table) => [...table.rows].filter((row) => !row.hidden && !row.parentElement.hidden && !isUpperHead(table, row));
  const intervalOf = (cell) => cell.querySelector(".interval")?.textContent.split(" to ") ?? [];
  const isFigure = (cell) => cell.dataset.sort !== undefined && intervalOf(cell).length === 2;
  const figureOf = (cell) => {
    const copied = cell.cloneNode(true);
    for (const part of copied.querySelectorAll(".interval")) part.remove();
    const words = copied.textContent.trim().split(/\s+/);
    const figure = words.pop() ?? "";
    const [low, high] = isFigure(cell) ? intervalOf(cell) : ["", ""];
    return [words.filter((word) => /\w/.test(word)).join(" "), figure, low, high];
  };
  const formats = {
    Markdown: (table) => {
      const lines = rowsOf(table).map((row) => `| ${cellsOf(row).map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`);
      const rule = `|${" --- |".repeat(cellsOf(table.rows[0]).length)}`;
      return [lines[0], rule, ...lines.slice(1)].join("\n");
    },
    CSV: (table) => {
      const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
      const rows = rowsOf(table).filter((row) => !row.classList.contains("group"));
      // A figure with its interval becomes a verdict and three numbers.
      const wide = new Set(rows.flatMap((row) => [...row.cells].flatMap((cell, at) => (isFigure(cell) ? [at] : []))));
      const fields = (row) => {
        if (row.cells.length !== rows[0].cells.length) return cellsOf(row);
        return [...row.cells].flatMap((cell, at) => {
          if (!wide.has(at)) return [textOf(cell)];
          const of = textOf(cell);
          return row === rows[0] ? [`${of}: verdict`, of, `${of}: low`, `${of}: high`] : figureOf(cell);
        });
      };
      return rows.map((row) => fields(row).map(quoted).join(",")).join("\n");
    },
  };
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // A page from a file may be refused the clipboard.
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  for (const table of all("table")) {
    const bar = document.createElement("p");
    bar.className = "copy";
    bar.append("Copy as ");
    for (const [name, format] of Object.entries(formats)) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.addEventListener("click", async () => {
        await copy(`${format(table)}\n`);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = name; }, 1500);
      });
      bar.append(button, " ");
    }
    (table.closest(".scroll") ?? table).after(bar);
  }

  const onlyChanges = byId("only-changes");
  const findTest = byId("find-test");
  const filter = () => {
    const part = findTest.value.trim().toLowerCase();
    let shown = 0;
    const rows = all(".verdict-table tbody tr:not(.group)");
    for (const row of rows) {
      const named = row.cells[0].textContent.toLowerCase().includes(part);
      row.hidden = !named || (onlyChanges.checked && row.dataset.changed === undefined);
      if (!row.hidden) shown += 1;
    }
    const filtered = onlyChanges.checked || part;
    for (const body of all(".verdict-table tbody")) {
      body.hidden = [...body.rows].every((row) => row.hidden || row.classList.contains("group"));
    }
    byId("shown").textContent = filtered ? `${shown} of ${rows.length} tests` : "";
  };
  onlyChanges?.addEventListener("change", filter);
  findTest?.addEventListener("input", filter);

  // Search of a site's list: a row is shown if each word is in it, or in the name of a test that it has.
  const findRow = byId("find-row");
  if (findRow) {
    const tests = all("#tests tbody tr").map((row) => row.cells[0].textContent.toLowerCase());
    const rows = all("tr[data-find]").map((row) => {
      const numbers = row.dataset.tests?.split(" ").filter(Boolean) ?? [];
      const own = `${row.textContent} ${row.dataset.find}`.toLowerCase();
      return { row, own, tests: numbers.map((number) => tests[number]) };
    });
    const search = () => {
      const words = findRow.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const { row, own, tests } of rows) {
        row.hidden = !words.every((word) => own.includes(word) || tests.some((test) => test.includes(word)));
      }
      const counted = (part) => {
        const count = all(`#${part}s tr[data-find]:not([hidden])`).length;
        return `${count} ${part}${count === 1 ? "" : "s"}`;
      };
      byId("shown").textContent = words.length ? `${counted("run")}, ${counted("test")}` : "";
    };
    findRow.addEventListener("input", search);
    search();
  }

  // Charts over time: one place under the pointer for all charts of a test, and one stretch of time for all of them.
  const three = (value) => Number(value.toPrecision(value >= 1000 ? 4 : 3)).toLocaleString("en");
  const place = (chart, key) => Number(chart.dataset[key]);
  const pointsOf = (path) => [...path.getAttribute("d").matchAll(/(-?[\d.]+),(-?[\d.]+)/g)].map((m) => [+m[1], +m[2]]);

  const prepare = (chart) => {
    const ends = { from: place(chart, "x0"), to: place(chart, "x1") };
    const box = { left: place(chart, "px0"), right: place(chart, "px1") };
    const y = { low: place(chart, "y0"), high: place(chart, "y1"), bottom: place(chart, "py0"), top: place(chart, "py1") };
    const lines = all("path.line", chart).map((path) => ({
      path, label: path.dataset.label, colour: path.getAttribute("stroke"), points: pointsOf(path),
    }));
    return { chart, ends, box, y, lines, view: { ...ends } };
  };
  const xAt = (its, second) => {
    const share = (second - its.view.from) / (its.view.to - its.view.from);
    return its.box.left + share * (its.box.right - its.box.left);
  };
  const secondAt = (its, x) => {
    const share = (x - its.box.left) / (its.box.right - its.box.left);
    return its.view.from + share * (its.view.to - its.view.from);
  };
  const unzoomed = (its, x) =>
    its.ends.from + ((x - its.box.left) / (its.box.right - its.box.left)) * (its.ends.to - its.ends.from);
  const valueAt = (its, y) =>
    its.y.low + ((its.y.bottom - y) / (its.y.bottom - its.y.top)) * (its.y.high - its.y.low);
  const inUnits = (its, event) => {
    const at = its.chart.getBoundingClientRect();
    return ((event.clientX - at.left) / at.width) * its.chart.viewBox.baseVal.width;
  };

  const readOut = (its, second) => {
    const step = (its.ends.to - its.ends.from) / 50;
    its.readout.replaceChildren();
    if (second === undefined) return;
    const at = document.createElement("span");
    at.textContent = `at ${three(second)} ${its.chart.dataset.xUnit ?? "s"}`;
    its.readout.append(at);
    for (const line of its.lines) {
      let best;
      for (const [x, y] of line.points) {
        const far = Math.abs(unzoomed(its, x) - second);
        if (far <= step && (!best || far < best.far)) best = { far, y };
      }
      if (!best) continue;
      const said = document.createElement("span");
      const colour = document.createElement("i");
      colour.style.background = line.colour;
      said.append(colour, `${line.label} ${three(valueAt(its, best.y))} ${its.chart.dataset.unit ?? ""}`);
      its.readout.append(said);
    }
  };
  const showCursor = (its, second) => {
    its.cursor?.remove();
    its.cursor = undefined;
    readOut(its, second);
    if (second === undefined || second < its.view.from || second > its.view.to) return;
    const x = xAt(its, second);
    its.cursor = svgElement("line", { class: "cursor", x1: x, x2: x, y1: its.y.top, y2: its.y.bottom });
    its.chart.append(its.cursor);
  };
  const roundStep = (span) => {
    const rough = 10 ** Math.floor(Math.log10(span / 6));
    return [1, 2, 5, 10].map((times) => times * rough).find((step) => span / step <= 8);
  };
  const drawTicks = (its, zoomed) => {
    its.ticks?.remove();
    const own = its.chart.querySelector(".ticks-x");
    if (!own) return;
    own.style.display = zoomed ? "none" : "";
    if (!zoomed) return;
    const step = roundStep(its.view.to - its.view.from);
    const [line, text] = [own.querySelector("line"), own.querySelector("text")];
    its.ticks = svgElement("g", { class: "zoomed-ticks" });
    for (let at = Math.ceil(its.view.from / step) * step; at <= its.view.to; at += step) {
      const [x, tick, label] = [xAt(its, at), line.cloneNode(), text.cloneNode()];
      tick.setAttribute("x1", x);
      tick.setAttribute("x2", x);
      label.setAttribute("x", x);
      label.textContent = three(at);
      its.ticks.append(tick, label);
    }
    its.chart.append(its.ticks);
  };
  const zoom = (its, from, to) => {
    its.view = { from, to };
    const zoomed = from > its.ends.from || to < its.ends.to;
    its.chart.classList.toggle("zoomed", zoomed);
    const factor = (its.ends.to - its.ends.from) / (to - from);
    const scale = (its.box.right - its.box.left) / (its.ends.to - its.ends.from);
    const shift = its.box.left - (its.box.left + (from - its.ends.from) * scale) * factor;
    for (const part of all(".lines path, .break", its.chart)) {
      part.setAttribute("vector-effect", "non-scaling-stroke");
      part.setAttribute("transform", zoomed ? `matrix(${factor} 0 0 1 ${shift} 0)` : "matrix(1 0 0 1 0 0)");
    }
    drawTicks(its, zoomed);
    its.reset.disabled = !zoomed;
  };

  const link = (group) => {
    const charts = all(".chart-timeline", group).map(prepare);
    const eachAlike = (its, act) => charts.forEach((other) => {
      const alike = other.chart.dataset.x0 === its.chart.dataset.x0 && other.chart.dataset.x1 === its.chart.dataset.x1;
      if (alike) act(other);
    });
    const zoomAll = (its, from, to) => {
      const [low, high] = [Math.max(its.ends.from, Math.min(from, to)), Math.min(its.ends.to, Math.max(from, to))];
      const least = (its.ends.to - its.ends.from) / 200;
      if (high - low >= least) eachAlike(its, (other) => zoom(other, low, high));
    };
    for (const its of charts) wire(its, eachAlike, zoomAll);
  };
  const clipped = (its) => {
    const id = `${its.chart.id}-clip`;
    const clip = svgElement("clipPath", { id });
    const { left, right } = its.box;
    const size = { x: left, y: its.y.top - 4, width: right - left, height: its.y.bottom - its.y.top + 8 };
    clip.append(svgElement("rect", size));
    its.chart.append(clip);
    its.chart.querySelector(".lines")?.setAttribute("clip-path", `url(#${id})`);
  };
  const toolsOf = (its, eachAlike, zoomAll) => {
    const tools = document.createElement("div");
    tools.className = "zoom-tools script-only";
    its.reset = document.createElement("button");
    its.reset.type = "button";
    its.reset.textContent = "Whole time";
    its.reset.disabled = true;
    its.reset.addEventListener("click", () => zoomAll(its, its.ends.from, its.ends.to));
    const nearer = document.createElement("button");
    nearer.type = "button";
    nearer.textContent = "Zoom in";
    nearer.addEventListener("click", () => {
      const { from, to } = its.view;
      const middle = its.second >= from && its.second <= to ? its.second : (from + to) / 2;
      const half = (to - from) / 4;
      const low = Math.min(Math.max(middle - half, its.ends.from), its.ends.to - 2 * half);
      zoomAll(its, low, low + 2 * half);
    });
    tools.append(nearer, its.reset, "or drag over the chart; arrow keys move along it");
    its.readout = document.createElement("div");
    its.readout.className = "readout";
    its.chart.after(its.readout, tools);
  };
  const wire = (its, eachAlike, zoomAll) => {
    const { chart } = its;
    chart.setAttribute("tabindex", "0");
    clipped(its);
    toolsOf(its, eachAlike, zoomAll);
    const point = (second) => eachAlike(its, (other) => { other.second = second; showCursor(other, second); });
    const within = (event) => Math.min(Math.max(inUnits(its, event), its.box.left), its.box.right);
    let begin;
    let shade;
    chart.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse" || event.button !== 0) return;
      event.preventDefault();
      chart.focus({ preventScroll: true });
      chart.setPointerCapture(event.pointerId);
      begin = within(event);
      shade = svgElement("rect", { class: "drag", y: its.y.top, height: its.y.bottom - its.y.top, x: begin, width: 0 });
      chart.append(shade);
    });
    chart.addEventListener("pointermove", (event) => {
      const x = within(event);
      point(secondAt(its, x));
      if (begin === undefined) return;
      shade.setAttribute("x", Math.min(begin, x));
      shade.setAttribute("width", Math.abs(x - begin));
    });
    chart.addEventListener("pointerup", (event) => {
      if (begin === undefined) return;
      shade.remove();
      const [from, x] = [begin, within(event)];
      begin = undefined;
      if (Math.abs(x - from) > 5) zoomAll(its, secondAt(its, from), secondAt(its, x));
    });
    chart.addEventListener("pointerleave", () => { if (begin === undefined) point(undefined); });
    chart.addEventListener("blur", () => point(undefined));
    chart.addEventListener("dblclick", () => zoomAll(its, its.ends.from, its.ends.to));
    chart.addEventListener("keydown", (event) => {
      const step = (its.view.to - its.view.from) / 60;
      const now = its.second ?? (its.view.from + its.view.to) / 2;
      if (event.key === "ArrowRight") point(Math.min(now + step, its.view.to));
      else if (event.key === "ArrowLeft") point(Math.max(now - step, its.view.from));
      else if (event.key === "Escape") zoomAll(its, its.ends.from, its.ends.to);
      else return;
      event.preventDefault();
    });
  };
  // Flamegraphs: the frame that is clicked becomes as wide as the graph, and with it all above and below it.
  const NARROWEST = 20;
  const LETTER = 6.7;
  const wires = (graph) => {
    const width = Number(graph.dataset.width);
    const frames = all("rect", graph).map((rect) => {
      const name = rect.querySelector("title").textContent.replace(/ \([^(]*\)$/, "");
      const [x, y, wide] = ["x", "y", "width"].map((key) => Number(rect.getAttribute(key)));
      return { rect, name, x, y, width: wide };
    });
    const focus = (chosen) => {
      const factor = width / chosen.width;
      all("text", graph).forEach((text) => text.remove());
      for (const frame of frames) {
        const around = frame.x <= chosen.x + 0.1 && frame.x + frame.width >= chosen.x + chosen.width - 0.1;
        const below = around && frame.y > chosen.y;
        const left = below ? 0 : (frame.x - chosen.x) * factor;
        const wide = below ? width : frame.width * factor;
        const outside = left + wide < 0.1 || left > width - 0.1;
        frame.rect.style.display = outside ? "none" : "";
        frame.rect.classList.toggle("beside", below);
        frame.rect.setAttribute("x", left);
        frame.rect.setAttribute("width", wide);
        if (outside || wide < NARROWEST) continue;
        const letters = Math.floor((wide - 4) / LETTER);
        const text = svgElement("text", { x: left + 3, y: frame.y + 11 });
        text.textContent = frame.name.length <= letters ? frame.name : `${frame.name.slice(0, letters - 2)}..`;
        graph.append(text);
      }
    };
    graph.addEventListener("click", (event) => {
      const frame = frames.find((one) => one.rect === event.target.closest("rect"));
      if (frame) focus(frame);
    });
  };

  // Charts of a test are prepared when it is first opened: a page of forty tests has hundreds.
  for (const test of all("details.test")) {
    const once = () => {
      if (!test.open || test.dataset.linked) return;
      test.dataset.linked = "yes";
      link(test);
      all(".flame-graph", test).forEach(wires);
    };
    test.addEventListener("toggle", once);
    once();
  }
})();
