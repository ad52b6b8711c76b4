/** Pages with `useStream` in a real browser: what becomes of a run when its page is closed, and what old pages decide. */

import { describe, expect, it } from "vitest";
import { BROWSER, NEEDS_BROWSER } from "../support/open-browser.js";
import { browserPages } from "./chat-uis/browser-page.js";
import { serve, until } from "./served.js";

const served = serve();

describe.skipIf(BROWSER === undefined)(`useStream in a browser${NEEDS_BROWSER}`, () => {
  const open = browserPages();

  /** A page with a run that has begun a tool which takes minutes. */
  async function runOn(label: string, options: object, submitOptions: object) {
    const thread = await served.thread("probe");
    const chat = await open(thread, served.url, options);
    const { page } = chat;
    const cancels: string[] = [];
    page.on("request", (request) => {
      if (request.url().endsWith("/cancel") || request.url().includes("/cancel?"))
        cancels.push(request.url());
    });
    await chat.submit(`call heedful {"label": "${label}", "ms": 600000}`, submitOptions);
    await until(() => served.hasLogged(`begin heedful:${label}`));
    return {
      thread,
      page,
      cancels,
      load: () => chat.load(),
      submit: (content: string) => chat.submit(content, submitOptions),
      isBusy: () => thread.isBusy(),
      shown: () => chat.shown(),
    };
  }

  it("cancels the run of a page that is closed, and shows its placeholder after the next message", async () => {
    const { thread, load, submit, isBusy, shown } = await runOn("b-closed", {}, {});
    await load();
    await until(async () => !(await isBusy()));
    await submit("and now?");
    await until(async () => (await shown()).length === 5);
    expect((await shown()).slice(1, 4)).toEqual([
      "ai> heedful",
      expect.stringMatching(/^tool! Tool call heedful .* a new message came before it finished/),
      "human: and now?",
    ]);
    const isWhole = async () => (await shown()).join("\n") === (await thread.script()).join("\n");
    await until(async () => !(await isBusy()) && (await isWhole()));
  });

  it("goes on with `reconnectOnMount`, joins the run again, and `stop` cancels it", async () => {
    const { page, cancels, load, isBusy } = await runOn("b-joined", { reconnectOnMount: true }, {});
    await load();
    await page.waitForFunction("window.chat.isLoading");
    expect(await isBusy()).toBe(true);
    await page.evaluate("window.chat.stop()");
    await until(async () => !(await isBusy()));
    expect(cancels).toHaveLength(1);
  });

  it("goes on with `streamResumable`, and `stop` only leaves the run", async () => {
    const { thread, page, cancels, load, isBusy } = await runOn("b-left", {}, { streamResumable: true });
    await page.evaluate("window.chat.stop()");
    await load();
    expect(await isBusy()).toBe(true);
    expect(cancels).toEqual([]);
    const [run] = await thread.client.runs.list(thread.id);
    await thread.client.runs.cancel(thread.id, run?.run_id ?? "", true);
  });

  describe("at an approval", () => {
    const paid = (...amounts: readonly number[]) =>
      served.log().flatMap((line) => {
        const amount = Number(/^pay .*"amount":(\d+)/.exec(line)?.[1]);
        return amounts.includes(amount) ? [amount] : [];
      });
    const asking = async (first: number, second: number) => {
      const thread = await served.thread("paying");
      const page = await open(thread, served.url, { fetchStateHistory: true });
      const content = `call pay {"amount": ${first}} then call pay {"amount": ${second}}`;
      await page.send([{ type: "human", content }]);
      expect(await page.asks()).toEqual([{ amount: first }]);
      return { thread, page };
    };

    it("approves nothing on a page that still shows an earlier question, and says why", async () => {
      const { thread, page } = await asking(8101, 8102);
      const old = await open(thread, served.url, { fetchStateHistory: true });
      await page.decide("reject");
      expect(await page.asks()).toEqual([{ amount: 8102 }]);
      expect(await old.asks()).toEqual([{ amount: 8101 }]);
      await old.decide("approve");
      expect(await old.error()).toMatch(
        /^Expected `resume` to name a question that waits, .* answered or declined before/,
      );
      expect(paid(8101, 8102)).toEqual([]);
      await old.load();
      expect(await old.asks()).toEqual([{ amount: 8102 }]);
      await old.decide("approve");
      expect(paid(8101, 8102)).toEqual([8102]);
      await thread.script();
    });

    it("pays once for a double click, also where the model asks for the next call at once", async () => {
      const { thread, page } = await asking(8111, 8112);
      await page.decide("approve", 2);
      await until(async () => !(await thread.isBusy()));
      expect(paid(8111, 8112)).toEqual([8111]);
      expect(await page.error()).toMatch(/^Expected `resume` to name a question that waits/);
      expect(await page.asks()).toEqual([{ amount: 8112 }]);
    });
  });

  describe("on a thread with many turns", () => {
    const turns = async (fetchStateHistory: unknown) => {
      const thread = await served.thread("probe");
      for (let turn = 0; turn < 6; turn += 1) await thread.send(`hello ${turn}`);
      const page = await open(thread, served.url, { fetchStateHistory });
      const before = await thread.script();
      expect(await page.shown()).toEqual(before);
      /** What the page and the thread show, which is the same. */
      const same = async () => {
        await page.rest();
        const lines = await thread.script();
        expect(await page.shown()).toEqual(lines);
        return lines;
      };
      return { page, before, same };
    };
    const WHOLE = { limit: 1000 };

    it.each([
      ["the first message from its checkpoint", 0, WHOLE, "checkpoint"],
      ["the last message from its checkpoint", 10, WHOLE, "checkpoint"],
      ["the first message under its id, though the page has the last ten states only", 0, true, "id"],
      ["the last message under its id", 10, true, "id"],
    ])("edits %s", async (title, index, fetchStateHistory, by) => {
      const { page, before, same } = await turns(fetchStateHistory);
      const { id } = (await page.messages())[index] ?? {};
      const content = `call deaf {"label": "${title}"}`;
      if (by === "id") await page.send([{ type: "human", id, content }]);
      else await page.send([{ type: "human", content }], { checkpoint: await page.before(index) });
      const answer = ["ai> deaf", `tool: deaf done ${title}`, expect.stringContaining("deaf done")];
      const edited = [...before.slice(0, index), `human: ${content}`, ...answer];
      expect(await same()).toEqual(edited);
      await page.send([{ type: "human", content: "hello" }]);
      expect(await same()).toEqual([...edited, "human: hello", before.at(-1)]);
    });

    it("regenerates the last response", async () => {
      const { page, before, same } = await turns(WHOLE);
      const last = (await page.messages()).at(-1)?.id;
      await page.send([], { checkpoint: await page.before(before.length - 1) });
      expect(await same()).toEqual(before);
      expect((await page.messages()).at(-1)?.id).not.toBe(last);
    });
  });

  it("shows the late result of a background tool in its place, and the response to it", async () => {
    const { page, submit, load, shown, thread, isBusy } = await runOn("b-late", {}, {});
    await page.evaluate("window.chat.stop()");
    await until(async () => !(await isBusy()));
    await submit("and now?");
    await until(async () => (await thread.messages()).length === 5 && !(await isBusy()));
    await load();
    const call = "window.chat.messages[1].tool_calls[0].id";
    const result = `{ type: "tool", tool_call_id: ${call}, content: "done at last" }`;
    await page.evaluate(`void window.chat.submit({ messages: [${result}] })`);
    await until(async () => (await shown()).length === 6);
    await until(async () => !(await isBusy()));
    await load();
    expect((await shown())[2]).toBe("tool: done at last");
    expect((await shown()).slice(4)).toEqual([
      expect.stringMatching(/^ai: /),
      expect.stringMatching(/^ai: /),
    ]);
    expect(await shown()).toEqual(await thread.script());
  });
});
