/** Tells lost connections from the errors of a provider and from an abort. */

const CODES: ReadonlySet<unknown> = new Set([
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ERR_STREAM_PREMATURE_CLOSE",
  "UND_ERR_SOCKET",
  "UND_ERR_BODY_TIMEOUT",
]);
/** The last one is Google's error for a stream that ends within an event. */
const MESSAGES =
  /^(terminated|premature close|socket hang up|other side closed|network error|\[GoogleGenerativeAI Error\]: Failed to parse stream)$/i;
/** The request got no response at all. The client has already retried it often enough. */
const CONNECT_ERRORS: ReadonlySet<unknown> = new Set([
  "APIConnectionError",
  "APIConnectionTimeoutError",
  "TimeoutError",
]);

/** Node's codes for an address where no server can be reached. */
const UNREACHABLE_CODES: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Whether the response was lost on its way, or is not valid JSON because a part is missing. */
export function isTransportError(error: unknown): boolean {
  return causesOf(error).some(
    ({ name, code, message }) =>
      CODES.has(code) || MESSAGES.test(String(message)) || name === "SyntaxError" || CONNECT_ERRORS.has(name),
  );
}

export function isConnectError(error: unknown): boolean {
  return causesOf(error).some(({ name }) => CONNECT_ERRORS.has(name));
}

/** Whether no server was reached at the model's address. */
export function isUnreachable(error: unknown): boolean {
  return (
    !isRefusal(error) &&
    causesOf(error).some(({ name, code }) => UNREACHABLE_CODES.has(code) || CONNECT_ERRORS.has(name))
  );
}

export function isAbortError(error: unknown): boolean {
  return causesOf(error).some(({ name }) => name === "AbortError" || name === "APIUserAbortError");
}

/** Whether a provider refused the request. Its client has already retried every refusal that can be retried. */
export function isRefusal(error: unknown): boolean {
  return statusOf(error) !== undefined;
}

/** The HTTP status of a refusal, 400 or more. Undefined if the error is not a refusal. */
export function statusOf(error: unknown): number | undefined {
  return causesOf(error)
    .map(({ status }) => status)
    .find((status) => typeof status === "number" && status >= 400);
}

/**
 * Whether a client threw because the response has no content. Gemini's client does so, for example for a malformed
 * tool call. False if the prompt was blocked, because a new request would be blocked too.
 */
export function isEmptyAnswer(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  return (
    Reflect.get(error, "name") === "EmptyContentError" && Reflect.get(error, "blockReason") === undefined
  );
}

interface Facts {
  readonly name: unknown;
  readonly code: unknown;
  readonly message: unknown;
  readonly status: number | undefined;
}

const LONGEST_CHAIN = 5;

function causesOf(error: unknown, depth = 0): Facts[] {
  if (typeof error !== "object" || error === null || depth === LONGEST_CHAIN) return [];
  const read = (field: string): unknown => Reflect.get(error, field);
  // The OpenAI client leaves `name` as "Error"; the name is in the class.
  const name = read("name") === "Error" ? error.constructor?.name : read("name");
  // Mistral's client uses another name for it, and Tongyi's client keeps the HTTP response.
  const status = read("status") ?? read("statusCode") ?? Reflect.get(Object(read("response")), "status");
  return [
    {
      name,
      code: read("code"),
      message: read("message"),
      status: typeof status === "number" ? status : undefined,
    },
    ...causesOf(read("cause"), depth + 1),
  ];
}
