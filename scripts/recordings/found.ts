/** What differs between a client alone and the same client with the library. */

import type { Difference } from "../../test/wire/unchanged/compare.js";
import type { Way } from "./play.js";

export interface Found extends Difference {
  readonly way: Way;
  /** What is compared. */
  readonly kind: "requests" | "error" | "messages" | "shown" | "body" | "history";
  /** The errors of the turn. */
  readonly aloneError?: string | undefined;
  readonly oursError?: string | undefined;
  /** The status and the words of a refusal. */
  readonly words?: string;
}

/** One exchange through one client, both ways. */
export interface Outcome {
  readonly found: readonly Found[];
  /** Why the client alone gets an error. */
  readonly aloneError: string | undefined;
}
