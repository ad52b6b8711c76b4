import type { Context } from "hono";
import { isRecord } from "../../shared/values.js";
import { EVERYBODY } from "../access/authenticate.js";

/** The user of a request, as the server has authenticated it. */
export function userOf(context: Context): string {
  const auth: unknown = context.get("auth");
  const user = isRecord(auth) ? auth["user"] : undefined;
  const identity = isRecord(user) ? user["identity"] : undefined;
  return typeof identity === "string" ? identity : EVERYBODY;
}
