// rankloop: tells the service of clicks on lists, and how far the lists came into view. See docs/clients.md.
(() => {
  "use strict";
  const script = document.currentScript || document.querySelector('script[data-key][src*="beacon.js"]');
  if (!script || (window.rankloop && window.rankloop.watch)) return;
  const key = script.dataset.key;
  const url = new URL("v1/events", script.src).href;
  const ITEM = "[data-rankloop-item]";
  const AT_ONCE = 20; // a beacon holds 64 kB
  const MOST = 500;
  const far = new Map(); // impression: positions that came into view, and how many of them have been told
  let queue = [];

  const tell = (event) => {
    const id = Date.now().toString(36) + Math.random().toString(36).slice(2);
    queue = [...queue, { ...event, id }].slice(-MOST);
  };
  const flush = () => {
    for (const [impression, [seen, told]] of far) {
      if (seen > told) tell({ impression, type: "seen", seen });
      far.set(impression, [seen, seen]);
    }
    while (queue.length) {
      const events = queue.slice(0, AT_ONCE);
      if (!navigator.sendBeacon?.(url, JSON.stringify({ key, events }))) break; // the next flush tries again
      queue = queue.slice(AT_ONCE);
    }
  };
  // An item has been seen: the impression it belongs to, unless that is a fallback's, which has no id.
  const see = (item) => {
    const list = item.closest("[data-rankloop]");
    const impression = list && list.dataset.rankloop;
    if (!impression) return "";
    const [seen, told] = far.get(impression) || [0, 0];
    const place = [...list.querySelectorAll(ITEM)].indexOf(item) + 1 + Number(list.dataset.rankloopStart || 0);
    far.set(impression, [Math.max(seen, place), told]);
    return impression;
  };
  const clicked = (event) => {
    const item = event.target.closest && event.target.closest(ITEM);
    if (!item || event.button > 1) return; // the first button, or the second, which opens a tab
    const impression = see(item);
    if (!impression) return;
    tell({ impression, item: item.dataset.rankloopItem });
    flush();
  };
  const listen = (root) => {
    root.addEventListener("click", clicked, true);
    root.addEventListener("auxclick", clicked, true);
  };
  const view = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        const half = entry.intersectionRatio >= 0.5 || entry.intersectionRect.height > innerHeight / 2;
        if (entry.isIntersecting && half) see(entry.target);
      }
    },
    { threshold: [0, 0.25, 0.5] },
  );
  const watch = (root) => {
    const items = [...root.querySelectorAll(ITEM)];
    if (root.matches && root.matches(ITEM)) items.push(root);
    for (const item of items) {
      view.unobserve(item); // it may be of another impression now
      view.observe(item);
    }
    if (root.getRootNode() !== document) listen(root.getRootNode());
  };
  new MutationObserver((changes) => {
    for (const change of changes) {
      if (change.type === "attributes") watch(change.target);
      for (const node of change.addedNodes) if (node.nodeType === 1 && node.isConnected) watch(node);
    }
  }).observe(document, { subtree: true, childList: true, attributeFilter: ["data-rankloop", "data-rankloop-item"] });
  addEventListener("pagehide", flush);
  document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && flush());
  listen(document);
  watch(document);
  window.rankloop = {
    watch,
    tell: (impression, item, type = "click") => {
      if (impression) tell({ impression, item, type });
      flush();
    },
  };
})();
