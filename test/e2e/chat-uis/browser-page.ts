/** Pages with `useStream` in a real browser, on another origin than the server. */

import { createServer } from "node:http";
import { coerceMessageLikeToMessage } from "@langchain/core/messages";
import { build } from "esbuild";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { type Listening, listen } from "../../support/listen.js";
import { openBrowser } from "../../support/open-browser.js";
import { script } from "../../support/thread.js";
import type { Thread } from "../served.js";

/** `start` renders the hook with its options, and `chat` is what it returned last. */
const PAGE = `
  import { createElement } from "react";
  import { createRoot } from "react-dom/client";
  import { useStream } from "@langchain/langgraph-sdk/react";
  const Chat = ({ options }) => ((window.chat = useStream(options)), null);
  window.start = (options) => createRoot(document.body).render(createElement(Chat, { options }));
  window.before = (index) =>
    chat.getMessagesMetadata(chat.messages[index], index)?.firstSeenState?.parent_checkpoint;
  window.decide = (type, clicks) => {
    const resume = { [chat.interrupt.id]: { decisions: [{ type }] } };
    for (let click = 0; click < clicks; click += 1) chat.submit(undefined, { command: { resume } });
  };
`;

/** Opens the browser for the tests of a block, and closes it after them. */
export function browserPages() {
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
  return async (thread: Thread, apiUrl: string, options: object = {}): Promise<ChatPage> => {
    const chat = { apiUrl, assistantId: thread.graph, threadId: thread.id, messagesKey: "messages" };
    const page = new ChatPage(await browser.newPage(), site.url, { ...chat, ...options });
    await page.load();
    return page;
  };
}

export class ChatPage {
  readonly page: Page;
  readonly #url: string;
  readonly #options: object;

  constructor(page: Page, url: string, options: object) {
    this.page = page;
    this.#url = url;
    this.#options = options;
  }

  /** Loads the page, or loads it again. */
  async load(): Promise<void> {
    await this.page.goto(this.#url);
    await this.#call("start", this.#options);
    await this.page.waitForFunction("window.chat && !window.chat.isThreadLoading");
  }

  /** Resolves when the page neither reads nor runs. */
  async rest(): Promise<void> {
    await this.page.waitForFunction("window.chat && !window.chat.isThreadLoading && !window.chat.isLoading");
  }

  /** Sends a message, without waiting for its run. */
  async submit(content: string, options: object = {}): Promise<void> {
    await this.#submit({ messages: [{ type: "human", content }] }, options);
  }

  /** Sends messages, and waits for the end of their run. */
  async send(messages: readonly object[], options: object = {}): Promise<void> {
    await this.#submit(messages.length > 0 ? { messages } : undefined, options);
    await this.rest();
  }

  /** Clicks on a decision about the question that the page shows, several times at once. */
  async decide(type: "approve" | "reject", clicks = 1): Promise<void> {
    await this.page.evaluate(`window.decide("${type}", ${clicks})`);
    await this.rest();
  }

  /** The checkpoint before the message at a place, as the page knows it. */
  before(index: number): Promise<unknown> {
    return this.page.evaluate(`window.before(${index})`);
  }

  messages(): Promise<readonly { readonly id: string; readonly type: string }[]> {
    return this.page.evaluate("window.chat.messages");
  }

  async shown(): Promise<string[]> {
    return script((await this.messages()).map((message) => coerceMessageLikeToMessage(message as never)));
  }

  /** The arguments of the calls that the page asks about. */
  asks(): Promise<unknown[]> {
    const found = "window.chat.interrupt?.value?.action_requests?.map(({ args }) => args) ?? []";
    return this.page.evaluate(found);
  }

  /** What the page can say about a run that failed. */
  error(): Promise<string | undefined> {
    return this.page.evaluate("window.chat.error?.message");
  }

  async #submit(...args: readonly unknown[]): Promise<void> {
    await this.page.evaluate((given) => void Reflect.get(globalThis, "chat").submit(...given), args);
  }

  async #call(name: string, given: object): Promise<void> {
    await this.page.evaluate(([known, value]) => void Reflect.get(globalThis, known)(value), [
      name,
      given,
    ] as const);
  }
}
