// Numbers, times and names as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const NOTHING = "–";

export const count = (n) => (n === null || n === undefined ? NOTHING : whole.format(n));

export const compact = (n) => (n === null || n === undefined ? NOTHING : Math.abs(n) < 10_000 ? whole.format(n) : short.format(n));

export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** An amount of data. */
export function bytes(n) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, n)) / 3));
  const amount = n / 1000 ** power;
  return `${power && amount < 10 ? amount.toFixed(1) : whole.format(amount)} ${units[power]}`;
}

/** A share as a percentage: 0.0312 is 3.12 %. */
export const percent = (share, digits = 1) =>
  share === null || share === undefined ? NOTHING : `${(100 * share).toFixed(digits).replace("-", "−")} %`;

/** A difference of shares in percentage points, with its sign. */
export const points = (share, digits = 2) =>
  share === null || share === undefined ? NOTHING : `${share > 0 ? "+" : ""}${(100 * share).toFixed(digits).replace("-", "−")}`;

export const decimal = (number, digits = 2) =>
  number === null || number === undefined ? NOTHING : number.toFixed(digits).replace("-", "−");

/** A length of time in words, from seconds. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return NOTHING;
  if (seconds < 1) return `${Math.round(1000 * seconds)} ms`;
  for (const [unit, size] of [["day", 86_400], ["hour", 3_600], ["minute", 60]]) {
    if (seconds >= 2 * size) return plural(Math.round(seconds / size), unit);
  }
  return seconds < 10 && seconds % 1 ? `${seconds.toFixed(1)} s` : plural(Math.round(seconds), "second");
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const exact = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const date = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

export const time = (seconds) => clock.format(1000 * seconds);
export const moment = (seconds) => exact.format(1000 * seconds);

/** A date and a time; the year only if it is not this one. */
export function when(seconds) {
  const at = new Date(1000 * seconds);
  return `${(at.getFullYear() === new Date().getFullYear() ? day : date).format(at)}, ${clock.format(at)}`;
}

export const onDay = (seconds) => day.format(1000 * seconds);
