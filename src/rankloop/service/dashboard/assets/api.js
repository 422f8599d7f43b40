// Calls to the service, with the key that is kept for this tab.

const KEPT = "rankloop key";

export const key = {
  get: () => sessionStorage.getItem(KEPT),
  set: (text) => sessionStorage.setItem(KEPT, text),
  forget: () => sessionStorage.removeItem(KEPT),
};

/** Why a call has no answer: `status` is that of HTTP, 0 if nobody answered. */
export class Trouble extends Error {
  constructor(status, detail, wait = 0) {
    super(detail);
    this.status = status;
    this.wait = wait;
  }
}

/** What a path answers. */
export async function call(path, { method = "GET", body, signal, using = key.get() } = {}) {
  const headers = using === null ? {} : { Authorization: `Bearer ${using}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const limit = AbortSignal.timeout(20_000);
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
      credentials: "omit",
      cache: "no-store",
    });
    if (answer.ok) return await answer.json();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Trouble(0, "The service does not answer.");
  }
  const problem = await answer.json().catch(() => ({}));
  throw new Trouble(answer.status, problem.detail ?? `The service answers ${answer.status}.`, Number(answer.headers.get("Retry-After")));
}

/** A path with names in it: each is encoded. */
export const path = (parts, ...names) =>
  String.raw({ raw: parts }, ...names.map((text) => encodeURIComponent(text)));
