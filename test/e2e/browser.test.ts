/** A page with `useStream` in a real browser, on another origin than the server: what becomes of a run when it is closed. */

import { createServer } from "node:http";
import { coerceMessageLikeToMessage } from "@langchain/core/messages";
import { build } from "esbuild";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Listening, listen } from "../support/listen.js";
import { BROWSER, NEEDS_BROWSER, openBrowser } from "../support/open-browser.js";
import { script } from "../support/thread.js";
import { serve, until } from "./served.js";

const served = serve();

/** `start` renders the hook with its options, and `chat` is what it returned last. */
const PAGE = `
  import { createElement } from "react";
  import { createRoot } from "react-dom/client";
  import { useStream } from "@langchain/langgraph-sdk/react";
  const Chat = ({ options }) => ((window.chat = useStream(options)), null);
  window.start = (options) => createRoot(document.body).render(createElement(Chat, { options }));
`;

describe.skipIf(BROWSER === undefined)(`useStream in a browser${NEEDS_BROWSER}`, () => {
  let browser: Browser;
  let site: Listening;
  beforeAll(async () => {
    const { outputFiles } = await build({
      stdin: { contents: PAGE, resolveDir: import.meta.dirname },
      bundle: true,
      write: false,
      define: { "process.env.NODE_ENV": '"production"' },
    });
    const code = outputFiles[0]?.text.replaceAll("</script", "<\\/script");
    const html = `<!doctype html><meta charset="utf-8"><body><script>${code}</script>`;
    site = await listen(createServer((_, response) => response.end(html)));
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await site?.stop();
  });

  /** A page with a run that has begun a tool which takes minutes. */
  async function runOn(label: string, options: object, submitOptions: object) {
    const thread = await served.thread("probe");
    const page: Page = await browser.newPage();
    const cancels: string[] = [];
    page.on("request", (request) => {
      if (request.url().endsWith("/cancel") || request.url().includes("/cancel?"))
        cancels.push(request.url());
    });
    const chat = { apiUrl: served.url, assistantId: "probe", threadId: thread.id, messagesKey: "messages" };
    const load = async () => {
      await page.goto(site.url);
      await page.evaluate((given) => Reflect.get(globalThis, "start")(given), { ...chat, ...options });
      await page.waitForFunction("window.chat && !window.chat.isThreadLoading");
    };
    const submit = async (content: string) => {
      const args = [{ messages: [{ type: "human", content }] }, submitOptions];
      await page.evaluate((given) => void Reflect.get(globalThis, "chat").submit(...given), args);
    };
    await load();
    await submit(`call heedful {"label": "${label}", "ms": 600000}`);
    await until(() => served.hasLogged(`begin heedful:${label}`));
    return {
      thread,
      page,
      cancels,
      load,
      submit,
      isBusy: () => thread.isBusy(),
      shown: async () => {
        const messages = (await page.evaluate("window.chat.messages")) as object[];
        return script(messages.map((message) => coerceMessageLikeToMessage(message as never)));
      },
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
});
