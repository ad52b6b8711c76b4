/**
 * What a strict provider answers to a request that it cannot accept: HTTP 400, in the shape of the OpenAI client.
 * Never cured by a retry, since the same history is sent again.
 */
export class OfflineBadRequestError extends Error {
  override readonly name = "OfflineBadRequestError";
  readonly status = 400;
  readonly code = "invalid_request_error";
  readonly type = "invalid_request_error";
  /** The place in the request that is at fault, such as `messages.[3].role`. */
  readonly param: string;

  constructor(message: string, param: string) {
    super(message);
    this.param = param;
  }
}
