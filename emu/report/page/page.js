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
