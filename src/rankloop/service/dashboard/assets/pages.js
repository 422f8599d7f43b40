// Which page an address asks for. Addresses are fragments: "#/loops/search/keys/laptop?after=50".

import { impressionPage } from "./impression.js";
import { keyedPage } from "./keyed.js";
import { loopPage } from "./loop.js";
import { keyPage } from "./notices.js";
import { overviewPage } from "./overview.js";
import { Trouble } from "./api.js";

export function pageAt(address) {
  const [path, query = ""] = address.slice(2).split(/\?(.*)/s);
  const options = new URLSearchParams(query);
  let parts;
  try {
    parts = path.split("/").map(decodeURIComponent);
  } catch {
    parts = ["nowhere"];
  }
  const [first, loop, second, key] = parts;
  if (first === "" && parts.length === 1) return overviewPage();
  if (first === "key") return keyPage();
  if (first === "loops" && loop && parts.length === 2) return loopPage(loop, options);
  if (first === "loops" && loop && second === "keys" && key && parts.length === 4) return keyedPage(loop, key);
  if (first === "impressions" && loop && parts.length === 2) return impressionPage(loop);
  return {
    load: () => {
      throw new Trouble(404, "The address names none of the dashboard's pages");
    },
  };
}
