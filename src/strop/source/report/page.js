"use strict";
for (const form of document.querySelectorAll("form.filters")) {
  const items = [...document.querySelectorAll(form.dataset.items)];
  const told = form.querySelector("output");
  const filter = () => {
    const words = form.elements.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const picks = [...form.querySelectorAll("select")].filter((s) => s.value);
    let left = 0;
    for (const item of items) {
      const text = (item.lowered ??= item.textContent.toLowerCase());
      const fits = picks.every((s) => item.dataset[s.name] === s.value) && words.every((w) => text.includes(w));
      item.hidden = !fits;
      left += fits;
    }
    told.textContent = left === items.length ? `${left}` : `${left} of ${items.length}`;
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  filter();
}
