/** The pages of the inspector in a real browser, over the shared server, which has no users. */

import { once } from "node:events";
import { request } from "node:http";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BATCH, TOLD } from "../../inspector/told.js";
import { accessibilityFaults, BROWSER, NEEDS_BROWSER, openBrowser } from "../../support/open-browser.js";
import { user } from "../../support/thread.js";
import { serve, Thread, until } from "../served.js";
import { HOSTILE_TEXT, hostileMessages, hostileMetadata } from "./hostile-thread.js";

const served = serve();

/** The fields of both kinds of JSON that tests read. */
interface Inspected {
  readonly stored: readonly { readonly fate: string }[];
  readonly steps: readonly {
    readonly checkpointId: string;
    readonly asksModel: boolean;
    readonly branch: number;
  }[];
  readonly input: readonly object[];
  readonly added: readonly object[];
  readonly threads: readonly { readonly threadId: string; readonly outcome: string }[];
}

const getJson = async (path: string): Promise<Inspected> => {
  const response = await get(path);
  expect(response.status).toBe(200);
  return (await response.json()) as Inspected;
};

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${served.url}${path}`, { headers });

/** Node's `fetch` does not set `host`. */
async function statusFor(path: string, headers: Record<string, string>): Promise<number | undefined> {
  const [response] = await once(request(`${served.url}${path}`, { headers }).end(), "response");
  return response.resume().statusCode;
}

describe("the routes of the inspector", () => {
  it("are the pages of a thread as HTML and as the doctor's JSON, and read only", async () => {
    const thread = await served.thread("agent");
    await thread.send("what is 20+22");
    const page = await get(`/tether/threads/${thread.id}`);
    expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect(await page.text()).toContain("20+22 = 42");

    const found = await getJson(`/tether/threads/${thread.id}.json`);
    const sound = { threadId: thread.id, outcome: "sound", messages: 4 };
    expect(found).toMatchObject({ schemaVersion: 1, ...sound, findings: [] });
    expect(found.stored.map(({ fate }) => fate)).toEqual(["sent", "sent", "sent", "sent"]);
    const asked = found.steps.filter(({ asksModel }) => asksModel);
    expect(asked).toMatchObject([{ messages: 3 }, { messages: 1 }]);

    const query = `step=${asked[0]?.checkpointId}&dialect=mistral`;
    const step = await getJson(`/tether/threads/${thread.id}.json?${query}`);
    expect(step).toMatchObject({
      step: { messages: 3, response: { model: "offline" } },
      request: {
        dialect: "mistral",
        dialectOrigin: "chosen",
        stored: 3,
        sent: 3,
        changed: 2,
        brokenRules: 0,
      },
      since: { checkpointId: asked[1]?.checkpointId, isPrefixKept: true, prefix: 1, new: 2 },
    });

    const list = await getJson(`/tether.json?q=${thread.id}`);
    expect(list.threads).toMatchObject([{ ...sound, lastRepair: null }]);
    for (const method of ["POST", "PUT", "PATCH", "DELETE"])
      for (const path of ["/tether", "/tether.json", `/tether/threads/${thread.id}`])
        expect((await fetch(`${served.url}${path}`, { method })).status).toBe(405);
    expect((await fetch(`${served.url}/tether`, { method: "HEAD" })).status).toBe(200);
  });

  it("show the settings of a run: its own system prompt", async () => {
    const thread = await served.thread("agent");
    await thread.send("hello", { context: { systemPrompt: "Say the unit." } });
    const { steps } = await getJson(`/tether/threads/${thread.id}.json`);
    const step = steps.find(({ asksModel }) => asksModel);
    const { input, added } = await getJson(`/tether/threads/${thread.id}.json?step=${step?.checkpointId}`);
    expect(input[0]).toMatchObject({ type: "system", content: "Say the unit." });
    expect(added).toMatchObject([{ inputIndex: 0, reasons: [{ code: "system-prompt" }] }]);
  });

  it.each(["no-uuid", "00000000-0000-4000-8000-000000000000", "%3Cscript%3Eran()%3C%2Fscript%3E"])(
    "answer 404 for %s, which is no thread",
    async (id) => {
      const page = await get(`/tether/threads/${id}`);
      expect(page.status).toBe(404);
      expect((await page.text()).match(/<script/g)).toEqual(["<script"]);
      expect((await get(`/tether/threads/${id}.json`)).status).toBe(404);
    },
  );

  it.each([
    ["another name", { host: "evil.example" }],
    ["a page of another site", { origin: "https://evil.example" }],
    ["a proxy", { "x-forwarded-for": "10.0.0.7" }],
  ])("refuse %s, because the server has no users", async (_, headers) => {
    for (const path of ["/tether", "/tether.json", "/tether/threads/no-uuid"])
      expect(await statusFor(path, headers)).toBe(403);
  });

  it("find threads by a part of an id, by a value of the metadata, and by its key", async () => {
    const { thread_id: id } = await served.client.threads.create({
      metadata: { customer: "Näther & Söhne 4711" },
      graphId: "agent",
    });
    for (const query of [id, id.slice(3, 30), "söhne 4711", "customer=Näther & Söhne 4711"]) {
      const { threads } = await getJson(`/tether.json?q=${encodeURIComponent(query)}`);
      expect(threads.map(({ threadId }) => threadId)).toEqual([id]);
    }
    expect((await getJson(`/tether.json?q=${id}&status=busy`)).threads).toEqual([]);
    const part = id.slice(3, 30);
    const ofGraph = await getJson(`/tether.json?graph=agent&q=${part}&sort=created`);
    expect(ofGraph).toMatchObject({ count: 1, threads: [{ threadId: id, graph: "agent" }] });
    expect((await getJson(`/tether.json?graph=probe&q=${part}`)).threads).toEqual([]);
    expect(await getJson("/tether.json?graph=agent")).toMatchObject({ count: expect.any(Number) });
  });
});

describe("a thread in trouble on the server", () => {
  const told = (id: string, query = "") => getJson(`/tether/threads/${id}.json${query}`);

  it("shows what is saved of a cancelled run, before and after the next message, and refreshes while it runs", async () => {
    const thread = await served.thread("probe");
    const label = `inspected-${thread.id}`;
    const run = await thread.begin(BATCH.replaceAll("ended", label).replaceAll("hangs", label));
    await until(() => served.hasLogged(`end deaf:${label}`, `begin heedful:${label}`));
    const latest = () => thread.client.threads.getHistory(thread.id, { limit: 1 });
    await until(async () => JSON.stringify(await latest()).includes(`deaf done ${label}`));
    expect(await told(thread.id)).toMatchObject(TOLD.busy);
    const page = await get(`/tether/threads/${thread.id}`);
    const running = await page.text();
    expect(running).toContain('<meta http-equiv="refresh" content="5">');
    expect(running).toMatch(/A run is running: tools\. This step began .*this is the thread at/);
    await thread.client.runs.cancel(thread.id, run, true);
    expect(await told(thread.id)).toMatchObject(TOLD.cancelled);
    await thread.send("hello");
    expect(await told(thread.id)).toMatchObject(TOLD["cancelled and continued"]);
    expect(await (await get(`/tether/threads/${thread.id}`)).text()).not.toContain("http-equiv");
  });

  it("shows how many runs wait for a run, and leads to Studio", async () => {
    const thread = await served.thread("probe");
    const label = `waited-for-${thread.id}`;
    const run = await thread.begin(`call heedful {"label": "${label}", "ms": 600000}`);
    await until(() => served.hasLogged(`begin heedful:${label}`));
    const queued = await thread.begin("hello", { multitaskStrategy: "enqueue" });
    const page = await (await get(`/tether/threads/${thread.id}`)).text();
    expect(page).toContain("1 run of the thread waits for its turn.");
    const address = new URLSearchParams({ baseUrl: served.url });
    expect(page).toContain(`https://smith.langchain.com/studio/thread/${thread.id}?${address}`);
    for (const one of [run, queued]) await thread.client.runs.cancel(thread.id, one, true);
  });

  it("says no more than the server tells of a call that may not have been started", async () => {
    const thread = await served.thread("queued");
    const label = `queued-${thread.id}`;
    const run = await thread.begin(BATCH.replaceAll("hangs", label));
    await until(() => served.hasLogged(`begin heedful:${label}`));
    await thread.client.runs.cancel(thread.id, run, true);
    expect(await told(thread.id)).toMatchObject(TOLD["queued on a server"]);
    const page = await (await get(`/tether/threads/${thread.id}`)).text();
    expect(page).toContain("The next run knows.");
    await thread.send("hello");
    expect(await told(thread.id)).toMatchObject(TOLD["queued and continued"]);
  });

  it("shows what is asked while it waits for a human", async () => {
    const thread = await served.thread("paying");
    await thread.invoke(user('call pay {"amount": 30}').messages);
    expect(await told(thread.id)).toMatchObject(TOLD.waiting);
  });

  it("shows nothing of a thread that is empty, and does not make up a request", async () => {
    const { id } = await served.thread("probe");
    expect(await told(id)).toMatchObject(TOLD.empty);
    expect(await (await get(`/tether/threads/${id}`)).text()).toContain("The thread is empty.");
  });

  it("says that a run failed, if the thread does not say why", async () => {
    const thread = await served.thread("agent");
    await thread.send("hello", { context: { maxIterations: -1 } }).catch(() => {});
    expect(await told(thread.id)).toMatchObject({ status: "error" });
    expect(await (await get(`/tether/threads/${thread.id}`)).text()).toContain("The last run failed");
  });

  it("tells the branches of a fork apart, and compares with the parent", async () => {
    const thread = await served.thread("probe");
    await thread.send("one");
    const { checkpoint } = await thread.client.threads.getState(thread.id);
    await thread.send("left");
    await thread.send("right", { checkpointId: checkpoint.checkpoint_id ?? "" });
    const { steps } = await told(thread.id);
    expect(new Set(steps.map(({ branch }) => branch))).toEqual(new Set([1, 2]));
    const asked = steps.find(({ asksModel, branch }) => asksModel && branch === 1);
    expect(await told(thread.id, `?step=${asked?.checkpointId}`)).toMatchObject({
      since: { isPrefixKept: true, gone: 0 },
    });
  });

  it("opens the messages of an archive", async () => {
    const thread = await served.thread("archive");
    for (const word of ["first", "second", "third"]) await thread.send(`${word} ${"word ".repeat(300)}`);
    const page = await (await get(`/tether/threads/${thread.id}`)).text();
    expect(page).toMatch(/\d+ messages? of the archive/);
    expect(page).toMatch(/(first|second) word word/);
  });
});

describe.skipIf(BROWSER === undefined)(`the pages in a browser${NEEDS_BROWSER}`, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser?.close());

  /** A page in which a script would run if the page had one: the policy that would stop it is off. */
  async function openPage(path: string): Promise<{ readonly page: Page; readonly ran: string[] }> {
    const context = await browser.newContext({ bypassCSP: true });
    const page = await context.newPage();
    const ran: string[] = [];
    await page.exposeFunction("ran", (place: string) => ran.push(place));
    page.on("dialog", (dialog) => ran.push(dialog.message()));
    await page.goto(`${served.url}${path}`);
    return { page, ran };
  }

  it("follow a run: what is open stays open, and the page is not loaded anew", async () => {
    const thread = await served.thread("probe");
    await thread.send("hello");
    const label = `followed-${thread.id}`;
    const run = await thread.begin(`call heedful {"label": "${label}", "ms": 600000}`);
    await until(() => served.hasLogged(`begin heedful:${label}`));
    const page = await browser.newPage();
    await page.goto(`${served.url}/tether/threads/${thread.id}`);
    await page.evaluate("document.isTheFirst = true");
    const fold = page.locator("#stored-1 details.ids");
    await fold.locator("summary").click();
    expect(await page.locator("header .chip").innerText()).toBe("busy");
    await thread.client.runs.cancel(thread.id, run, true);
    await page.getByText("would be closed").or(page.getByText("will be closed")).first().waitFor();
    expect(await page.locator("header .chip").innerText()).not.toBe("busy");
    expect(await fold.getAttribute("open")).toBe("");
    expect(await page.evaluate("[document.isTheFirst, document.activeElement.textContent]")).toEqual([
      true,
      "ids",
    ]);
    await page.close();
  });

  it("show what is in a hostile thread as text, and run nothing of it", async () => {
    const { thread_id: id } = await served.client.threads.create({ metadata: hostileMetadata });
    const thread = new Thread(served.client, "unpaired", id);
    await thread.invoke(user("Where is it warm?", "first").messages);
    await thread.update(...hostileMessages());
    const hostile = encodeURIComponent(HOSTILE_TEXT);
    const ofThread = `threads/${id}`;
    const unfold = "for (const folded of document.querySelectorAll('details')) folded.open = true";
    for (const path of [
      ofThread,
      `threads/${hostile}`,
      `${ofThread}?dialect=${hostile}`,
      `?q=${id}`,
      `?q=${hostile}`,
    ]) {
      const { page, ran } = await openPage(`/tether${path.startsWith("?") ? "" : "/"}${path}`);
      await page.evaluate(unfold);
      const active = page.locator("main script, img, textarea, iframe, [onerror], a[href^='javascript']");
      expect(await active.count()).toBe(0);
      if (path.includes(id) && !path.includes("dialect"))
        expect(await page.locator("body").innerText()).toContain(`<script>ran("title")</script>`);
      expect(ran).toEqual([]);
      await page.context().close();
    }
    const { page } = await openPage(`/tether/${ofThread}`);
    await page.evaluate(unfold);
    const text = await page.locator("main").innerText();
    for (const place of ["text", "human name", "block", "tool", "result", "provider", "call id", "summary"])
      expect(text).toContain(`ran("${place}")`);
    expect(text).toContain("\\u202e\\u2066\\u0000\\u001b[31m");
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.context().close();
  });
});
