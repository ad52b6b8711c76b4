/**
 * The error of a strict provider for a request that it cannot accept: HTTP 400, in the shape of the OpenAI
 * client. A retry never helps, because it sends the same history again.
 */
export class OfflineBadRequestError extends Error {
  override readonly name = "OfflineBadRequestError";
  readonly status = 400;
  readonly code = "invalid_request_error";
  readonly type = "invalid_request_error";
  /** The faulty place in the request, such as `messages.[3].role`. */
  readonly param: string;

  constructor(message: string, param: string) {
    super(message);
    this.param = param;
  }
}
