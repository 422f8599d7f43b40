// The frame of all pages: which one an address asks for, whose key it is, and what happens if something goes wrong.

import { call, key, Trouble } from "./api.js";
import { h, show } from "./dom.js";
import { draw } from "./drawing.js";
import { frame, knowsLoops, say, warn } from "./frame.js";
import { brokenPage, keyPage, troublePage } from "./notices.js";
import { pageAt } from "./pages.js";

const EVERY = 3_000;
const SOON = 100; // while the service is still looking further back
const LONGEST_WAIT = 30_000;

const main = document.getElementById("main");
const seen = new Map(); // what each address showed last: shown at once on the way back
const scrolled = new Map();

let current = null; // the page that is open
let access = null; // what the key may do
let byLink = false;

/** Open the page of the address bar. */
async function open() {
  current?.stop();
  const address = location.hash.startsWith("#/") ? location.hash : "#/";
  const isFirst = current === null;
  const back = !byLink && scrolled.has(address);
  byLink = false;
  const mine = { address, page: pageAt(address), stopping: new AbortController(), text: "", failures: 0, timer: 0 };
  mine.stop = () => {
    scrolled.set(address, scrollY);
    mine.stopping.abort();
    clearTimeout(mine.timer);
  };
  current = mine;
  warn(null);
  const arrive = () => {
    if (isFirst) return;
    scrollTo(0, back ? scrolled.get(address) : 0);
    (main.querySelector("h1") ?? main).focus({ preventScroll: true });
  };
  const known = access === null ? undefined : seen.get(address);
  if (known !== undefined) {
    paint(mine, known);
    arrive(); // now and not later, when somebody may be typing
  } else if (!isFirst) show(main, h("p", { class: "quiet" }, "Loading…"));
  if (!(await admitted(mine))) return;
  await refresh(mine);
  if (current !== mine) return;
  if (!knowsLoops() && access !== null) lookForLoops(mine);
  if (known === undefined) arrive();
}

/** Whether the key may look; otherwise the page that asks for one is open. */
async function admitted(mine) {
  if (mine.page.open) {
    paint(mine, {});
    return false;
  }
  if (access !== null) return true;
  try {
    access = await call("/v1/key", { signal: mine.stopping.signal });
  } catch (trouble) {
    if (current === mine) failed(mine, trouble);
    return false;
  }
  return current === mine;
}

/** Fetch what the page shows, show what has changed, and come back later. */
async function refresh(mine) {
  clearTimeout(mine.timer);
  if (access === null) return open();
  try {
    const data = await mine.page.load({ signal: mine.stopping.signal });
    if (current !== mine) return;
    if (mine.failures) say("The service answers again.");
    mine.failures = 0;
    warn(null);
    const text = JSON.stringify(data);
    if (text !== mine.text) {
      mine.text = text;
      seen.set(mine.address, data);
      paint(mine, data);
    }
    later(mine, data.soon ? SOON : EVERY);
  } catch (trouble) {
    if (current === mine) failed(mine, trouble);
  }
}

/** The loops to go to, for pages that do not need them themselves. */
async function lookForLoops(mine) {
  const found = await call("/v1/overview", { signal: mine.stopping.signal }).catch(() => null);
  if (found && current === mine) frame({ access, address: mine.address, loops: found.loops, forget });
}

function later(mine, wait) {
  clearTimeout(mine.timer);
  mine.timer = setTimeout(() => (document.hidden ? later(mine, wait) : refresh(mine)), wait);
}

function paint(mine, data) {
  try {
    const { title, content } = mine.page.view(data, context(mine));
    document.title = title ? `${title} · rankloop` : "rankloop";
    show(main, content);
    draw(main);
    frame({ access, address: mine.address, loops: data.loops, forget });
  } catch (error) {
    broken(mine, error);
  }
}

/** Put a page that says what is the matter in the place of one. */
function replace(mine, { title, content }) {
  document.title = `${title} · rankloop`;
  show(main, content);
  frame({ access, address: mine.address, forget });
  mine.text = "";
}

/** Say that a page could not be made of what the service answered. */
function broken(mine, error) {
  reportError(error);
  replace(mine, brokenPage(error, { retry: () => refresh(mine) }));
}

/** What a page may ask of the frame. */
function context(mine) {
  return {
    access,
    isAdmin: access?.role === "admin" && !access.read_only,
    refresh: () => refresh(mine),
    enter,
    go,
  };
}

/** Say what is the matter: in a banner over what is known, or in the place of the page. */
function failed(mine, trouble) {
  if (!(trouble instanceof Trouble)) {
    if (trouble.name === "AbortError") return;
    broken(mine, trouble);
    later(mine, LONGEST_WAIT);
    return;
  }
  if (trouble.status === 401) {
    const had = key.get() !== null;
    key.forget();
    access = null;
    seen.clear();
    mine.page = keyPage({ ended: had, then: mine.address });
    paint(mine, {});
    if (had) say("The key is not valid any more.");
    return;
  }
  mine.failures += 1;
  const passing = trouble.status === 0 || trouble.status >= 500 || trouble.status === 429;
  const wait = passing ? Math.max(1000 * trouble.wait, Math.min(LONGEST_WAIT, EVERY * 2 ** (mine.failures - 1))) : LONGEST_WAIT;
  if (passing && seen.has(mine.address)) {
    warn({ trouble, wait, retry: () => refresh(mine) });
    if (mine.failures === 1) say(`${trouble.message} What you see may be old.`);
  } else {
    replace(mine, troublePage(trouble, { retry: () => refresh(mine), enter: () => go("#/key") }));
  }
  later(mine, wait * (0.9 + 0.2 * Math.random()));
}

/** Take a key, if the service does. */
async function enter(text, then) {
  access = await call("/v1/key", { using: text });
  key.set(text);
  if (location.hash === then) open();
  else go(then);
}

function forget() {
  key.forget();
  access = null;
  seen.clear();
  go("#/key");
}

function go(address) {
  byLink = true;
  if (location.hash === address) open();
  else location.hash = address;
}

addEventListener("hashchange", () => {
  if (location.hash.startsWith("#key=")) location.reload(); // a key that was pasted into the address bar
  else open();
});
addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='#']");
  if (link?.classList.contains("skip")) {
    event.preventDefault();
    main.focus();
  } else if (link) byLink = true;
});
addEventListener("visibilitychange", () => {
  if (!document.hidden && current) refresh(current);
});
document.getElementById("find").addEventListener("submit", (event) => {
  event.preventDefault();
  const id = new FormData(event.target).get("id").trim();
  if (id) go(`#/impressions/${encodeURIComponent(id)}`);
});
history.scrollRestoration = "manual";
open();
