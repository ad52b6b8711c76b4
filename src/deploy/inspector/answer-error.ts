import type { Context } from "hono";
import { errorPage } from "./html/error-page.js";

/** What a reader is told of a refusal. The server says that an id has another form with the status 400 or 422. */
const REFUSALS: Readonly<Record<number, readonly [status: 403 | 404, title: string, text: string]>> = {
  400: [404, "Not found", "There is no thread or step with this id."],
  404: [404, "Not found", "There is no thread or step with this id."],
  422: [404, "Not found", "There is no thread or step with this id."],
  403: [403, "Not allowed", ""],
};

/**
 * Answers what the server has refused. A thread of another user is not found, as in the server's own API.
 *
 * @throws The error itself if it is no refusal. The server logs it, and answers with status 500.
 */
export async function answerError(error: Error, context: Context): Promise<Response> {
  const refusal = REFUSALS[Number(Reflect.get(error, "status"))];
  if (refusal === undefined) throw error;
  const [status, title, text] = refusal;
  const message = text === "" ? error.message : text;
  return context.req.path.endsWith(".json")
    ? context.json({ error: message }, status)
    : context.html(errorPage(title, message), status);
}
