/**
 * Hands values from one asynchronous flow to another, one at a time. The giver pauses until the taker asks for the next
 * value, as a generator does. So nothing changes while the taker works with a value.
 */
export class Handoff<Value> {
  #offer: Deferred<Offer<Value>> = defer();
  readonly #closed: Deferred<void> = defer();

  /**
   * Resolves when the taker asks for the next value.
   *
   * @throws HandoffClosedError if the taker has left.
   */
  async give(value: Value): Promise<void> {
    const taken = defer<"taken">();
    this.#offer.resolve({ kind: "value", value, taken });
    const outcome = await Promise.race([this.#closed.promise, taken.promise]);
    if (outcome !== "taken") throw new HandoffClosedError();
  }

  /** The taker gets no more values. */
  end(): void {
    this.#offer.resolve({ kind: "end" });
  }

  /** The taker gets the error after its current value. */
  fail(error: unknown): void {
    this.#offer.resolve({ kind: "error", error });
  }

  async *take(): AsyncGenerator<Value, void> {
    try {
      for (;;) {
        const offer = await this.#offer.promise;
        if (offer.kind === "end") return;
        if (offer.kind === "error") throw offer.error;
        this.#offer = defer();
        yield offer.value;
        offer.taken.resolve("taken");
      }
    } finally {
      this.#closed.resolve();
    }
  }
}

/** The taker has left, so no more values are needed. */
export class HandoffClosedError extends Error {
  override readonly name = "HandoffClosedError";

  constructor() {
    super("The consumer of the run has left.");
  }
}

type Offer<Value> =
  | { readonly kind: "value"; readonly value: Value; readonly taken: Deferred<"taken"> }
  | { readonly kind: "end" }
  | { readonly kind: "error"; readonly error: unknown };

interface Deferred<Value> {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
}

function defer<Value>(): Deferred<Value> {
  let resolve: Deferred<Value>["resolve"] = () => {};
  const promise = new Promise<Value>((whenDone) => {
    resolve = whenDone;
  });
  return { promise, resolve };
}
