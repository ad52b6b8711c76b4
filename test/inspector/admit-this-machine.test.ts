import { expect, it } from "vitest";
import { fileTarget } from "../../src/doctor/targets/file-target.js";
import { createInspector } from "../../src/inspector.js";

const threads = () =>
  fileTarget.open(
    { file: "-" },
    { folder: ".", readInput: async () => "[]", canWrite: false, environment: {} },
  );
const inspector = createInspector({ threads });
const from = (remoteAddress: string) => ({ incoming: { socket: { remoteAddress } } });

it.each([
  ["this machine", from("127.0.0.1"), { host: "localhost:2024" }, 200],
  ["this machine, over IPv6", from("::1"), { host: "[::1]:2024" }, 200],
  ["this machine, over both", from("::ffff:127.0.0.1"), { host: "127.0.0.1:2024" }, 200],
  ["another machine", from("10.0.0.7"), { host: "localhost:2024" }, 403],
  ["another machine, over both", from("::ffff:10.0.0.7"), { host: "127.0.0.1" }, 403],
  ["a name that was pointed at this machine", from("127.0.0.1"), { host: "evil.example" }, 403],
  ["no host", from("127.0.0.1"), {}, 403],
  ["a proxy of this machine", from("127.0.0.1"), { host: "localhost", "x-forwarded-for": "10.0.0.7" }, 403],
  ["a proxy by the standard", from("127.0.0.1"), { host: "localhost", forwarded: "for=10.0.0.7" }, 403],
  ["a proxy that says no more", from("127.0.0.1"), { host: "localhost", via: "1.1 proxy" }, 403],
  [
    "a proxy by its own header",
    from("127.0.0.1"),
    { host: "localhost", "cf-connecting-ip": "10.0.0.7" },
    403,
  ],
  ["a page of this machine", from("::1"), { host: "localhost", origin: "http://localhost:3000" }, 200],
  ["a page of another site", from("::1"), { host: "localhost", origin: "https://evil.example" }, 403],
  ["a page without an origin", from("::1"), { host: "localhost", origin: "null" }, 403],
  ["a server that does not say who asks", {}, { host: "localhost" }, 403],
] as const)("An open server answers %s as it should.", async (_, env, headers, status) => {
  expect((await inspector(new Request("http://any/tether", { headers }), env)).status).toBe(status);
});
