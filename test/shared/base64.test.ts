import fc from "fast-check";
import { expect, it } from "vitest";
import { decodeBase64Text, encodeBase64 } from "../../src/shared/json.js";

it("Bytes are encoded as Node's buffers encode them.", () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => encodeBase64(bytes) === Buffer.from(bytes).toString("base64")),
  );
});

it("A file with more bytes than a function can take arguments is encoded completely.", () => {
  const bytes = new Uint8Array(300_000).map((_, index) => index % 251);
  expect(encodeBase64(bytes)).toBe(Buffer.from(bytes).toString("base64"));
});

it("Text is decoded as Node's buffers decode it, even if it is not base64.", () => {
  const base64 = fc.uint8Array().map((bytes) => Buffer.from(bytes).toString("base64"));
  const base64url = fc.string({ unit: "binary" }).map((text) => Buffer.from(text).toString("base64url"));
  fc.assert(
    fc.property(
      fc.oneof(base64, base64url, fc.string({ unit: "binary-ascii" })),
      (encoded) => decodeBase64Text(encoded) === Buffer.from(encoded, "base64").toString(),
    ),
    { numRuns: 1000 },
  );
  expect(decodeBase64Text("日本")).toBe("");
  expect(decodeBase64Text("77u/R3LDvMOfZQ==")).toBe("\uFEFFGrüße");
});
