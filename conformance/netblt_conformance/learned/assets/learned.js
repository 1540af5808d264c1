/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Filters the tables of states, and marks a state and its transitions in the drawing. */
(() => {
  for (const section of document.querySelectorAll("section[data-role]")) {
    const rows = [...section.querySelectorAll("tr[data-state]")];
    section.querySelector("input[type=search]")?.addEventListener("input", event => {
      const wanted = event.target.value.toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
    const choose = state => {
      for (const node of section.querySelectorAll("svg g")) node.classList.toggle("chosen", node.dataset.state === state);
      for (const way of section.querySelectorAll("svg path"))
        way.classList.toggle("chosen", way.dataset.source === state || way.dataset.to === state);
    };
    for (const node of section.querySelectorAll("svg g")) node.addEventListener("click", () => choose(node.dataset.state));
    for (const row of rows) row.addEventListener("click", () => choose(row.dataset.state));
  }
})();
