/**
 * Waits for work until a signal aborts. The work goes on then, and nobody waits for it.
 *
 * @throws The reason of the abort, or the error of the work.
 */
export async function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  let stopListening = () => {};
  const aborted = new Promise<never>((_, reject) => {
    const fail = () => reject(signal.reason);
    if (signal.aborted) fail();
    else signal.addEventListener("abort", fail, { once: true });
    stopListening = () => signal.removeEventListener("abort", fail);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    // A listener keeps a joined signal alive, with everything that it closes over.
    stopListening();
  }
}
