// Pages that say what is the matter and what to do: no key, a key that has ended, nothing there, nobody answers.

import { Trouble } from "./api.js";
import { h } from "./dom.js";
import { sentence } from "./frame.js";

/** A page of a few paragraphs. */
export function notice(title, ...content) {
  return { title, content: h("div", { class: "notice" }, h("h1", { tabindex: "-1" }, title), content) };
}

/** A page that asks for a key. */
export function keyPage({ ended = false, then = "#/" } = {}) {
  let told = "";
  let busy = false;
  const view = (_, { enter }) => {
    const submit = async (event) => {
      event.preventDefault();
      const form = event.currentTarget;
      const text = new FormData(form).get("key").trim();
      const problem = form.querySelector("#key-problem");
      if (!text || busy) return;
      busy = true;
      try {
        await enter(text, then);
      } catch (trouble) {
        if (!(trouble instanceof Trouble)) throw trouble;
        told = trouble.status === 401 ? "This key is not known here, has expired or was revoked." : sentence(trouble.message);
        problem.textContent = told;
        form.elements.key.setAttribute("aria-invalid", "true");
        form.elements.key.focus();
      } finally {
        busy = false;
      }
    };
    return notice(
      ended ? "This key is not valid any more" : "Enter an access key",
      h("p", {},
        ended
          ? "It has expired or was revoked, or the service now has another store. Ask whoever runs the service for a new one. Nothing has been lost."
          : "The dashboard shows what users saw and did, so it takes a key of role ", ended ? null : [h("code", {}, "read"), " (to look) or ", h("code", {}, "admin"), " (to act as well)."]),
      h("form", { class: "key", onsubmit: submit },
        h("label", { for: "key" }, "Access key"),
        h("input", { id: "key", name: "key", type: "password", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "key-problem key-kept" }),
        h("p", { id: "key-problem", class: "problem", role: "alert" }, told),
        h("button", { type: "submit", class: "main" }, "Open the dashboard"),
        h("p", { id: "key-kept", class: "quiet" }, "It is kept for this tab alone, until it is closed, and sent to this service only.")),
      h("h2", {}, "Where to get one"),
      h("p", {}, h("code", {}, "rankloop serve"), " printed an admin key when it first started. Whoever has access to the store makes others:"),
      h("pre", { tabindex: "0" }, "rankloop live keys create --role read --expires 90d"),
      h("p", {}, "A link may bring the key along, in a part of the address that browsers do not send: ", h("code", {}, `${location.origin}/#key=KEY`), "."));
  };
  return { open: true, view };
}

/** What stands in the place of a page that could not be drawn. */
export function brokenPage(error, { retry }) {
  return notice("This page cannot be drawn",
    h("p", {}, "The service answered, but the page's script could not show the answer. Nothing is wrong with your loops, and nothing was changed."),
    h("pre", { tabindex: "0" }, String(error)),
    h("p", {}, "Load the page again: it may be older than the service. If that does not help, it is a defect of the dashboard: please report it with the line above. ", h("code", {}, "rankloop live status"), " prints the same facts."),
    h("p", {}, h("button", { type: "button", class: "main", onclick: () => location.reload() }, "Load again"), " ",
      h("button", { type: "button", onclick: retry }, "Try now"), " ", h("a", { href: "#/" }, "Go to the overview")));
}

/** What stands in the place of a page that could not be had. */
export function troublePage(trouble, { retry, enter }) {
  const again = h("p", {}, h("button", { type: "button", class: "main", onclick: retry }, "Try now"));
  if (trouble.status === 404) {
    return notice("There is no such page",
      h("p", {}, sentence(trouble.message)),
      h("p", {}, "It may have another name, have been left out of the journal by retention, or belong to another store."),
      h("p", {}, h("a", { href: "#/" }, "Go to the overview")));
  }
  if (trouble.status === 403) {
    return notice("This key may not see that",
      h("p", {}, sentence(trouble.message)),
      h("p", {}, "The dashboard takes a key of role ", h("code", {}, "read"), " or ", h("code", {}, "admin"), "."),
      h("p", {}, h("button", { type: "button", class: "main", onclick: enter }, "Use another key")));
  }
  if (trouble.status === 0) {
    return notice("The service does not answer",
      h("p", {}, "It may be starting, or have ended, or the network may be down. This page tries again by itself."),
      h("p", {}, "If you run it: ", h("code", {}, "rankloop serve"), " starts it, and its log says why it ended."),
      again);
  }
  if (trouble.status >= 500 || trouble.status === 429) {
    return notice("The service cannot answer now",
      h("p", {}, sentence(trouble.message)),
      h("p", {}, "Pages of your users go on: lists whose learners are in memory are ranked, and others are production's. This page tries again by itself."),
      again);
  }
  return notice("That did not work", h("p", {}, sentence(trouble.message)), again);
}
