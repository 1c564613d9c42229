"use strict";
(() => {
  // tables sort by the column whose head is pressed; missing values stay at the end
  const key = (row, i) => {
    const cell = row.cells[i];
    const text = cell.dataset.v ?? cell.textContent.trim();
    const value = Number(text);
    return text !== "" && !Number.isNaN(value) ? value : text;
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b
      : typeof a === typeof b ? String(a).localeCompare(String(b), "en", { numeric: true })
      : typeof a === "number" ? -1 : 1;
  document.querySelectorAll("thead button").forEach((button) => {
    button.addEventListener("click", () => {
      const head = button.parentElement;
      const table = head.closest("table");
      const down = head.getAttribute("aria-sort") === "ascending";
      table.querySelectorAll("thead th").forEach((th) => th.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = table.tBodies[0];
      const last = (v) => v === Infinity || v === "–";
      const rows = [...body.rows].map((row) => [key(row, head.cellIndex), row]);
      rows.sort(([a], [b]) => last(a) - last(b) || (down ? compare(b, a) : compare(a, b)));
      body.append(...rows.map(([, row]) => row));
    });
  });

  // what the cells of a wide table show
  document.querySelectorAll("input[data-hide]").forEach((box) => {
    const apply = () => box.closest(".item").querySelector("table").classList.toggle(box.dataset.hide, !box.checked);
    box.addEventListener("change", apply);
    apply();
  });

  // a legend entry brings its series out: while pointed at, or until pressed again
  document.querySelectorAll("figure").forEach((figure) => {
    const buttons = [...figure.querySelectorAll(".legend button")];
    const names = new Set(buttons.map((b) => b.dataset.s));
    const light = (chosen) => {
      figure.classList.toggle("dimmed", chosen.length > 0);
      figure.querySelectorAll("svg [data-s]").forEach((mark) => {
        const name = names.has(mark.dataset.s) ? mark.dataset.s : "others";
        mark.classList.toggle("lit", chosen.includes(name));
      });
    };
    const pressed = () => buttons.filter((b) => b.getAttribute("aria-pressed") === "true").map((b) => b.dataset.s);
    buttons.forEach((button) => {
      const enter = () => light([...pressed(), button.dataset.s]);
      const leave = () => light(pressed());
      button.addEventListener("mouseenter", enter);
      button.addEventListener("mouseleave", leave);
      button.addEventListener("focus", enter);
      button.addEventListener("blur", leave);
      button.addEventListener("click", () => {
        button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true");
        enter();
      });
    });
  });

  // pointing at a curve reads it back from its pixels
  const tip = document.createElement("div");
  tip.className = "tip"; tip.setAttribute("role", "status"); tip.hidden = true;
  document.body.append(tip);
  const axis = (svg, name) => {
    const [start, stop, low, high, log] = svg.dataset[name].split(" ").map(Number);
    const back = (p) => { const share = (p - start) / (stop - start); return log ? low * (high / low) ** share : low + share * (high - low); };
    return back;
  };
  const shown = (v) => Number(v.toPrecision(3)).toString();
  document.querySelectorAll("svg[data-x]").forEach((svg) => {
    const curves = [...svg.querySelectorAll(".line")].flatMap((line) => (line.querySelector("path").getAttribute("d").match(/-?[\d.]+ -?[\d.]+/g) ?? [])
      .map((pair) => [...pair.split(" ").map(Number), line.dataset.s]));
    const read = (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      let near = null, least = 30 ** 2;
      for (const one of curves) {
        const away = (one[0] - at.x) ** 2 + (one[1] - at.y) ** 2;
        if (away < least) { least = away; near = one; }
      }
      tip.hidden = near === null;
      if (near === null) return;
      tip.textContent = `${near[2]}: ${shown(axis(svg, "y")(near[1]))} at ${shown(axis(svg, "x")(near[0]))}`;
      tip.style.left = `${Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8)}px`;
      tip.style.top = `${event.clientY - 34}px`;
    };
    svg.addEventListener("pointermove", read);
    svg.addEventListener("pointerdown", read);
    svg.addEventListener("pointerleave", () => { tip.hidden = true; });
  });

  // what does not fit says so, until it was scrolled to its end
  document.querySelectorAll(".scroll, .panels > div").forEach((box) => {
    const hint = () => {
      const hidden = box.scrollWidth - box.clientWidth;
      box.classList.toggle("overflows", hidden > 2);
      box.classList.toggle("more", hidden - box.scrollLeft > 2);
    };
    box.addEventListener("scroll", hint, { passive: true });
    new ResizeObserver(() => requestAnimationFrame(hint)).observe(box);
  });

  // on a phone many pictures begin folded; a link to one of them opens its fold
  if (innerWidth < 640) document.querySelectorAll("details.many").forEach((d) => { d.open = false; });
  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    let closed = false;
    for (let fold = target && target.closest("details"); fold; fold = fold.parentElement.closest("details")) {
      closed ||= !fold.open;
      fold.open = true;
    }
    if (closed) target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();

  // light and dark
  const root = document.documentElement;
  const stored = (() => { try { return localStorage.getItem("meco-theme"); } catch { return null; } })();
  if (stored) root.dataset.theme = stored;
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("meco-theme", root.dataset.theme); } catch { /* a page from a file may not keep it */ }
  });

  // print shows everything
  const closed = [];
  addEventListener("beforeprint", () => document.querySelectorAll("details:not([open])").forEach((d) => { d.open = true; closed.push(d); }));
  addEventListener("afterprint", () => closed.splice(0).forEach((d) => { d.open = false; }));

  // the part of the page in view is marked in the list
  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  const watch = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (!entry.isIntersecting) return;
    links.forEach((a) => a.removeAttribute("aria-current"));
    links.get(entry.target.id)?.setAttribute("aria-current", "true");
  }), { rootMargin: "-10% 0px -80% 0px" });
  links.forEach((_, id) => { const part = document.getElementById(id); if (part) watch.observe(part); });
})();
