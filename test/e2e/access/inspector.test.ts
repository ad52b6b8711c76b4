/** The inspector of a server with users: the same keys, and each user's own threads only. */

import { describe, expect, it } from "vitest";
import { newThread, type Thread } from "../served.js";
import { serveUsers } from "./serve-users.js";

const served = serveUsers();
const ANN = "ann@example.com";

async function threadOfAnn(): Promise<Thread> {
  const thread = await newThread(served.client(ANN), "agent");
  await thread.send("what is 20+22");
  return thread;
}

const typed = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`,
});

describe("the inspector of a server with users", () => {
  it("shows a user his threads, and nobody those of another", async () => {
    const { id } = await threadOfAnn();
    const pages = [`/tether/threads/${id}`, `/tether/threads/${id}.json`];
    for (const path of [...pages, "/tether", "/tether.json", `/tether?q=${id}`])
      expect((await served.send(ANN, "GET", path)).text).toContain(id);
    for (const path of pages) {
      const { status, text } = await served.send("bob", "GET", path);
      expect(status).toBe(404);
      expect(text).not.toMatch(/20\+22|ann/);
    }
    for (const query of ["", ".json", `.json?q=${id}`, `.json?q=owner=${encodeURIComponent(ANN)}`])
      expect((await served.send("bob", "GET", `/tether${query}`)).text).not.toContain(`/threads/${id}`);
    const { threads } = JSON.parse((await served.send("bob", "GET", `/tether.json?q=${id}`)).text);
    expect(threads).toEqual([]);
  });

  it("takes a key that a browser asked for, on its pages and nowhere else", async () => {
    const { id } = await threadOfAnn();
    const key = served.shared.keys[ANN] ?? "";
    for (const path of ["/tether", `/tether/threads/${id}`, "/tether.json"])
      expect((await served.send(typed("anybody", key), "GET", path)).text).toContain(id);
    expect((await served.send(typed("ann", key), "HEAD", "/tether")).status).toBe(200);
    for (const [method, path] of [
      ["GET", `/threads/${id}`],
      ["POST", "/threads/search"],
      ["POST", "/tether"],
      ["GET", "/tetherx"],
      ["GET", "/store/items"],
    ] as const)
      expect(
        await served.send(typed("ann", key), method, path, method === "POST" ? {} : undefined),
      ).toMatchObject({
        status: 401,
      });
  });

  it.each([
    ["no key", {}],
    ["a wrong key", { "x-api-key": "tether_wrong" }],
    ["a wrong password", typed("ann", "tether_wrong")],
    ["a key as the name", { authorization: `Basic ${Buffer.from("tether_key:").toString("base64")}` }],
    ["what is no text", { authorization: "Basic %%%" }],
    ["the scheme of Studio", { "x-auth-scheme": "langsmith" }],
  ])("refuses %s, and lets the browser ask", async (_, headers) => {
    for (const path of ["/tether", "/tether.json", "/tether/threads/00000000-0000-4000-8000-000000000000"]) {
      const response = await fetch(`${served.shared.url}${path}`, { headers });
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toMatch(/^Basic realm="langgraph-tether"/);
    }
    const other = await fetch(`${served.shared.url}/threads/search`, { method: "POST", headers });
    expect(other.headers.get("www-authenticate")).toBe("Bearer");
  });

  it("takes a token, and reaches no other origin's page", async () => {
    const client = await served.tokenClient("carl");
    const { thread_id } = await client.threads.create();
    const headers: Record<string, string> = {
      authorization: String(Reflect.get(client.threads, "defaultHeaders").authorization),
    };
    expect((await served.send(headers, "GET", "/tether")).text).toContain(thread_id);
    const response = await fetch(`${served.shared.url}/tether`, {
      headers: { ...headers, origin: "https://evil.example" },
    });
    expect(response.headers.get("access-control-allow-credentials")).toBeNull();
    expect(response.headers.get("cross-origin-resource-policy")).toBe("same-origin");
  });
});
