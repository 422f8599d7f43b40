// Runs before anything is painted: the theme, and a key in the address, which leaves the address bar at once.
(() => {
  const theme = localStorage.getItem("rankloop theme");
  if (theme) document.documentElement.dataset.theme = theme;
  if (location.hash.startsWith("#key=")) {
    const given = new URLSearchParams(location.hash.slice(1));
    sessionStorage.setItem("rankloop key", given.get("key"));
    history.replaceState(null, "", location.pathname + "#" + (given.get("to") || "/"));
  }
})();
