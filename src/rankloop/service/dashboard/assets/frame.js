// What stands around every page: the loops to go to, the theme, the key, the banner, and what is read out.

import { h, name, show } from "./dom.js";
import { moment } from "./format.js";

const THEMES = [["", "System"], ["light", "Light"], ["dark", "Dark"]];

let loopsKnown = [];
let framed = null; // the address and the number of loops that the frame was last drawn for
let answeredAt = 0;

/** Tell people who listen to the page. */
export function say(text) {
  const said = document.getElementById("said");
  said.textContent = "";
  said.append(text);
}

/** Say that what is shown may be old; null if all is well. */
export function warn(about) {
  if (about === null) {
    answeredAt = Date.now() / 1000;
    show(document.getElementById("banner"));
    return;
  }
  const { trouble, wait, retry } = about;
  show(
    document.getElementById("banner"),
    h("div", { class: "banner" },
      h("p", {},
        h("strong", {}, trouble.status === 0 ? "The service does not answer. " : "The service cannot answer now. "),
        trouble.status === 0 ? "" : `${sentence(trouble.message)} `,
        `What you see is from ${moment(answeredAt)}. The page tries again every ${Math.max(1, Math.round(wait / 1000))} s, and goes on by itself.`),
      h("button", { type: "button", onclick: retry }, "Try now")),
  );
}

/** A message as a sentence. */
export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

/** Whether it is known which loops there are. */
export const knowsLoops = () => loopsKnown.length > 0;

/** Draw the frame. */
export function frame({ access, address, loops, forget }) {
  loopsKnown = access === null ? [] : loops ?? loopsKnown;
  document.getElementById("find").hidden = access === null;
  const side = document.getElementById("side");
  side.hidden = access === null;
  const link = (to, ...content) =>
    h("a", { href: to, "aria-current": address === to ? "page" : address.startsWith(`${to}/`) && to !== "#/" ? "true" : null }, content);
  show(side,
    h("ul", {},
      h("li", {}, link("#/", "Overview")),
      loopsKnown.map((loop) =>
        h("li", { "data-key": loop.loop }, link(loopAddress(loop.loop), name(loop.loop), h("span", { class: "kind" }, loop.kind))))));
  const now = `${address} ${loopsKnown.length}`;
  if (now !== framed) bringIntoView(side);
  framed = now;
  show(document.getElementById("tools"), themeSwitch(), access === null ? null : keyMenu(access, forget));
}

/** On a narrow screen the loops stand in one row, which scrolls: the one that is open should be seen. */
function bringIntoView(side) {
  const row = side.querySelector("ul"), open = side.querySelector("[aria-current]");
  if (open) row.scrollLeft = open.offsetLeft - (row.clientWidth - open.offsetWidth) / 2;
}

export const loopAddress = (loop, ...more) => ["#/loops", loop, ...more].map((part, i) => (i ? encodeURIComponent(part) : part)).join("/");

function themeSwitch() {
  const now = document.documentElement.dataset.theme ?? "";
  return h("label", { class: "theme" },
    h("span", { class: "hidden" }, "Colours"),
    h("select", { id: "theme", onchange: chooseTheme },
      THEMES.map(([value, label]) => h("option", { value, selected: value === now }, label))));
}

function chooseTheme(event) {
  const theme = event.target.value;
  if (theme) {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem("rankloop theme", theme);
  } else {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem("rankloop theme");
  }
}

function keyMenu(access, forget) {
  if (access.read_only) return h("span", { class: "whose" }, "Read-only");
  return h("span", { class: "whose" },
    h("span", {}, h("span", { class: "spare" }, "Key: "), h("strong", {}, access.role)),
    h("button", { type: "button", class: "plain", onclick: forget }, "Forget it"));
}
