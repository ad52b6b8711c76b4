import { compose, type Onion, type WithResult } from "./compose.js";
import { MiddlewareTermination } from "./termination.js";

/** How an onion was left. */
export type Exit =
  /** Of itself, with or without having called `next()`. */
  | { readonly kind: "returned" }
  /** By a `MiddlewareTermination`. What it carried is the context's result. */
  | { readonly kind: "terminated" }
  | { readonly kind: "threw"; readonly error: unknown };

/** Never throws. */
export async function runOnion<Context extends WithResult>(
  onion: Onion<Context>,
  context: Context,
): Promise<Exit> {
  try {
    return await composeWithTermination(onion, context);
  } catch (error) {
    return { kind: "threw", error };
  }
}

async function composeWithTermination<Context extends WithResult>(
  onion: Onion<Context>,
  context: Context,
): Promise<Exit> {
  try {
    await compose(onion)(context);
    return { kind: "returned" };
  } catch (error) {
    if (!MiddlewareTermination.isInstance(error)) throw error;
    // The setter throws for what is no result.
    if (error.result !== undefined) context.result = error.result;
    return { kind: "terminated" };
  }
}
