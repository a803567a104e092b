"use strict";
// a slider over each time line: what is 400 contexts long is read piece by piece
for (const area of document.querySelectorAll(".zoom")) {
  const tool = document.createElement("label");
  tool.className = "tool";
  tool.textContent = "zoom ";
  const slider = document.createElement("input");
  slider.type = "range";
  slider.min = "0";
  slider.max = "10";
  slider.step = "0.25";
  slider.value = "0";
  slider.setAttribute("aria-label", "zoom into the time line");
  slider.addEventListener("input", () => {
    const before = area.scrollWidth, middle = area.scrollLeft + area.clientWidth / 2;
    area.style.setProperty("--zoom", String(2 ** Number(slider.value)));
    area.scrollLeft = middle * area.scrollWidth / before - area.clientWidth / 2;
  });
  tool.append(slider);
  area.before(tool);
}
// one stop of the tab key a picture, its parts by the arrow keys: nobody tabs through 400 contexts
for (const picture of document.querySelectorAll(".walk")) {
  const parts = [...picture.querySelectorAll("[tabindex]")];
  parts.forEach((part, place) => part.setAttribute("tabindex", place ? "-1" : "0"));
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const here = parts.indexOf(document.activeElement), there = parts[here + step];
    if (here < 0 || !there) return;
    event.preventDefault();
    parts[here].setAttribute("tabindex", "-1");
    there.setAttribute("tabindex", "0");
    there.focus();
  });
}
// paper opens nothing
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
