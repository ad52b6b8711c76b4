/** The key or the token that a request carries. */

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
}

/**
 * The key or the token of a request. The SDK's clients send a key of LangSmith on their own if the environment has one,
 * so `Authorization` comes first.
 */
export function credentialOf(request: Asked): string | undefined {
  const authorization = request.headers.get("authorization") ?? "";
  const [, bearer] = /^bearer +(\S+) *$/i.exec(authorization) ?? [];
  if (bearer !== undefined) return bearer;
  const typed = isPageRequest(request) ? passwordOf(authorization) : undefined;
  return typed ?? (request.headers.get("x-api-key")?.trim() || undefined);
}

/**
 * Whether the request asks for a page of the inspector. A browser sends what its user typed in with every request to the
 * server, also with those that a page of another site makes. So a typed key counts only where nothing can be changed.
 */
export function isPageRequest({ method, url }: Asked): boolean {
  const [, path = ""] = /^https?:\/\/[^/?#]*([^?#]*)/.exec(url) ?? [];
  return (method === "GET" || method === "HEAD") && /^\/tether(?:\.json|\/.*)?$/.test(path);
}

/** The password of HTTP's basic authentication (RFC 7617). The name before it does not count, as the key names its user. */
function passwordOf(authorization: string): string | undefined {
  const [, encoded] = /^basic +([\w+/=]+) *$/i.exec(authorization) ?? [];
  if (encoded === undefined) return undefined;
  const [, password] = /^[^:]*:(\S+)$/.exec(Buffer.from(encoded, "base64").toString("utf8")) ?? [];
  return password;
}
