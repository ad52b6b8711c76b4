import { describe, expect, it } from "vitest";
import { providerTextOf, toPlainError } from "../../../src/providers/failure/model-failure.js";

const plain = (error: unknown) => toPlainError(error, (text) => text.replaceAll("secret", "…"));

class BadRequestError extends Error {
  readonly status = 400;
  readonly code = "code of secret";
  readonly headers = { authorization: "Bearer secret" };
  readonly request = { key: "secret" };
}

describe("the provider's text is found", () => {
  it.each([
    ["as it is", "Overloaded", "Overloaded"],
    ["after the status", "400 Slow down", "Slow down"],
    ["with its own number at the start", "503 of us are busy", "503 of us are busy"],
    [
      "in the error of a JSON body",
      '400 {"type":"error","error":{"type":"x","message":"Bad order"}}',
      "Bad order",
    ],
    [
      "in the detail of a JSON body",
      'Status 422. Body: {"object":"error","detail":"Bad field"}',
      "Bad field",
    ],
    ["before LangChain's advice", "400 No key\n\nTroubleshooting URL: https://a.b/c/\n", "No key"],
    ["with braces that are not JSON", "Missing {place} in it", "Missing {place} in it"],
    ["in an error without one", "400 status code (no body)", "no reason given"],
    ["over several lines", "one\n  two", "one two"],
  ])("%s", (_title, message, text) => {
    expect(providerTextOf(plain(new BadRequestError(message)))).toBe(text);
  });

  it("with the cause of a lost connection", () => {
    const refused = Object.assign(new AggregateError([]), { code: "ECONNREFUSED" });
    const error = new Error("Connection error.", { cause: new Error("fetch failed", { cause: refused }) });
    expect(providerTextOf(plain(error))).toBe("Connection error. (ECONNREFUSED)");
  });

  it("and is shortened", () => {
    expect(providerTextOf(plain(new Error("word ".repeat(500)))).length).toBeLessThanOrEqual(501);
  });
});

describe("a plain error", () => {
  it("has the name, codes and stack of the client's error, and nothing else", () => {
    const error = plain(new BadRequestError("It was secret."));
    expect(error).not.toBeInstanceOf(BadRequestError);
    expect({ ...error }).toEqual({ status: 400, code: "code of …" });
    expect(error).toMatchObject({ name: "BadRequestError", message: "It was …." });
    expect(error.stack).toMatch(/^BadRequestError: It was …\.\n {4}at .*plain-error\.test\.ts/);
  });

  it("is made of a value that is not an error, and of a cause that refers to itself", () => {
    expect(plain("secret").message).toBe("…");
    expect(plain(undefined).message).toBe("undefined");
    const round = new Error("round");
    round.cause = round;
    expect(plain(round).cause).toBeInstanceOf(Error);
  });
});
