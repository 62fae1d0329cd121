// The shell: which page is shown, what the address says, how the service is asked.
import { binaries } from "/binaries/page.js";
import { graph } from "/graph/page.js";
import { texts } from "/texts/page.js";
import { h, say, state } from "/parts.js";

const PAGES = { binaries, graph, texts };

function show() {
  const { page } = state();
  for (const link of document.querySelectorAll(".top nav a")) {
    const here = link.getAttribute("href") === `#/${page}`;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const main = document.getElementById("main");
  document.title = `${page[0].toUpperCase()}${page.slice(1)} · weft`;
  main.replaceChildren();
  say("");
  try {
    PAGES[page](main);
  } catch (error) {
    main.append(h("p", { class: "note" }, `This page cannot be shown: ${error.message}`));
  }
  document.body.dataset.page = page;
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});
// What a page keeps in the address itself says nothing here: this is a link, or the way back.
addEventListener("hashchange", show);
show();
