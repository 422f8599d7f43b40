// Elements from descriptions, and changing a page into another with as few touches as possible: what has not changed
// keeps its focus, its selection and its scroll position. Texts only ever become text nodes.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. Attributes that begin with "on" are listeners; null, false and undefined are left out. */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) listen(node, name.slice(2), value);
    else if (name === "draw") node.draw = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(child));
  }
  return node;
}

// A listener is looked up when something happens, so that a page which is drawn anew can exchange it.
function listen(node, type, listener) {
  node.listeners ??= {};
  if (!(type in node.listeners)) node.addEventListener(type, dispatch);
  node.listeners[type] = listener;
}

function dispatch(event) {
  event.currentTarget.listeners[event.type]?.(event);
}

const keyOf = (node) => (node.nodeType === 1 ? node.getAttribute("data-key") : null);

const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);

/** Make the children of `parent` those given. Children with the same `data-key` are the same, wherever they stand. */
export function show(parent, ...children) {
  const wanted = children.flat(3).filter((child) => child instanceof Node);
  const keyed = new Map();
  for (const node of parent.childNodes) if (keyOf(node) !== null) keyed.set(keyOf(node), node);
  let place = parent.firstChild;
  for (const node of wanted) {
    let old = keyOf(node) === null ? place : keyed.get(keyOf(node));
    keyed.delete(keyOf(node));
    if (keyOf(node) === null) while (old && !alike(old, node)) old = old.nextSibling;
    if (old && alike(old, node)) {
      if (old === place) place = place.nextSibling;
      else parent.insertBefore(old, place);
      change(old, node);
    } else parent.insertBefore(node, place);
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

function change(old, node) {
  if (old.nodeType !== 1) {
    if (old.data !== node.data) old.data = node.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!node.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
  }
  for (const { name, value } of node.attributes) {
    if (old.getAttribute(name) !== value && !(name === "open" && old.nodeName === "DETAILS")) old.setAttribute(name, value);
  }
  for (const [type, listener] of Object.entries(node.listeners ?? {})) listen(old, type, listener);
  if (node.draw) old.draw = node.draw; // what is inside is drawn once its width is known
  else show(old, ...node.childNodes);
}

/** A name as somebody gave it: its direction of writing is its own affair. */
export const name = (text) => h("bdi", { class: "name" }, text);
