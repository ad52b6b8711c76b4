/** A `fetch` for a model's client that holds a request back: before its response, or in the response's first words. */

export interface Hold {
  readonly place: "before" | "in the words";
  /** Whether the next request is the one. */
  readonly isNow: () => boolean;
  /** Called when the request is held before its response. */
  readonly onHeld: () => void;
}

/** How many events of a stream come before it is held: the role, and some words. */
const EVENTS = 3;

/** @param current What is held at the time of a request; undefined if nothing is. A held request ends when it is aborted. */
export const holdingFetch =
  (current: () => Hold | undefined): typeof fetch =>
  async (url, init) => {
    const hold = current();
    if (hold === undefined || !hold.isNow()) return fetch(url, init);
    if (hold.place === "before") {
      hold.onHeld();
      return new Promise((_resolve, reject) => whenAborted(init, reject));
    }
    const response = await fetch(url, init);
    const events = (await response.text()).split(/(?<=\n\n)/).slice(0, EVENTS);
    const body = new ReadableStream({
      start: (controller) => {
        controller.enqueue(new TextEncoder().encode(events.join("")));
        whenAborted(init, (reason) => controller.error(reason));
      },
    });
    return new Response(body, { status: response.status, headers: response.headers });
  };

function whenAborted(init: RequestInit | undefined, then: (reason: unknown) => void): void {
  const signal = init?.signal;
  if (signal?.aborted) then(signal.reason);
  signal?.addEventListener("abort", () => then(signal.reason));
}
