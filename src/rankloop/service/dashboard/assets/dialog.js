// A question before something is done.

import { h } from "./dom.js";

/** Ask; whether the answer was yes. Focus goes to the way out, and in the end back to where it was. */
export function ask({ title, text, yes, danger = true }) {
  return new Promise((answer) => {
    const closed = () => {
      answer(dialog.returnValue === "yes");
      dialog.remove();
    };
    const dialog = h("dialog", { "aria-labelledby": "asked", "aria-describedby": "asked-more", onclose: closed },
      h("h2", { id: "asked" }, title),
      h("div", { id: "asked-more" }, text),
      h("div", { class: "actions" },
        h("button", { type: "button", autofocus: true, onclick: () => dialog.close("no") }, yes ? "Cancel" : "Close"),
        yes ? h("button", { type: "button", class: danger ? "danger" : "main", onclick: () => dialog.close("yes") }, yes) : null));
    document.body.append(dialog);
    dialog.showModal();
  });
}
