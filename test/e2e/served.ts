/** The shared development server as the tests of one file have it, and threads of it. */

import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { BaseMessage } from "@langchain/core/messages";
import { Client, type Interrupt, type RunsInvokePayload } from "@langchain/langgraph-sdk";
import { beforeAll, expect, inject } from "vitest";
import { OWN_CONNECTION } from "../../scripts/dev-server.js";
import type { ApprovalRequest } from "../../src/index.js";
import { messagesOf, pairedMessagesOf, script, user } from "../support/thread.js";
import type { SharedServer } from "./shared-servers.js";

/** What the tests of one file are told of a server, which starts when the first of them asks for it. */
export function told<Server>(name: "sharedServer" | "usersServer"): () => Server {
  let known: Server | undefined;
  beforeAll(async () => {
    const answer = await fetch(inject(name));
    if (!answer.ok) throw new Error(await answer.text());
    known = (await answer.json()) as Server;
  });
  return () => {
    if (known === undefined) throw new Error("The server runs only while tests do.");
    return known;
  };
}

/**
 * The server of the product's graph and the fixture's, which other files use at the same time: a test that counts
 * calls or requests names them as no other test does.
 */
export function serve() {
  const get = told<SharedServer>("sharedServer");
  const client = () => new Client({ apiUrl: get().url, apiKey: null, defaultHeaders: OWN_CONNECTION });
  return {
    /** Without a slash at the end. */
    get url() {
      return get().url;
    },
    get client() {
      return client();
    },
    /** The cities whose weather was asked for, in order. */
    get cities() {
      return readLog(get().cityLog);
    },
    /** What the tools of the fixture did, as `begin name:label` and `end name:label`. */
    log: () => readLog(get().toolLog),
    hasLogged: (...lines: readonly string[]) => {
      const log = readLog(get().toolLog);
      return lines.every((line) => log.includes(line));
    },
    thread: (graph: string) => newThread(client(), graph),
  };
}

export function readLog(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n").slice(0, -1);
  } catch {
    return [];
  }
}

/** Resolves when the check holds, which is asked every few milliseconds until the test is given up. */
export async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await check())) await delay(20);
}

export async function newThread(client: Client, graph: string): Promise<Thread> {
  return new Thread(client, graph, (await client.threads.create()).thread_id);
}

export type RunOptions = Omit<RunsInvokePayload, "input">;

export class Thread {
  readonly client: Client;
  readonly graph: string;
  readonly id: string;

  constructor(client: Client, graph: string, id: string) {
    this.client = client;
    this.graph = graph;
    this.id = id;
  }

  /** Sends a message and waits for the end of the run. */
  async send(text: string, options: RunOptions = {}): Promise<string[]> {
    return script(pairedMessagesOf(await this.invoke(user(text).messages, options)));
  }

  /** The values at the end of a run with these messages. */
  async invoke(messages: readonly unknown[], options: RunOptions = {}): Promise<unknown> {
    return this.client.runs.wait(this.id, this.graph, { ...options, input: { messages } });
  }

  /** The questions that wait. */
  async questions(): Promise<{ readonly id: string; readonly request: ApprovalRequest }[]> {
    const { tasks } = await this.client.threads.getState(this.id);
    const interrupts = tasks.flatMap((task) => task.interrupts as Interrupt<ApprovalRequest>[]);
    return interrupts.flatMap(({ id = "", value }) => (value === undefined ? [] : [{ id, request: value }]));
  }

  /** Answers the question that waits, by its id. */
  async resume(...decisions: readonly object[]): Promise<unknown> {
    const [{ id } = { id: "" }] = await this.questions();
    return this.client.runs.wait(this.id, this.graph, { command: { resume: { [id]: { decisions } } } });
  }

  async update(...messages: readonly object[]): Promise<unknown> {
    return this.client.threads.updateState(this.id, { values: { messages } });
  }

  async isBusy(): Promise<boolean> {
    return (await this.client.threads.get(this.id)).status === "busy";
  }

  /** What a run streams in one mode, but its metadata. It throws if the run fails. */
  async stream(input: Record<string, unknown>, streamMode: string, options: object = {}): Promise<unknown[]> {
    const found: unknown[] = [];
    const payload = { ...options, input, streamMode: streamMode as "values" };
    for await (const { event, data } of this.client.runs.stream(this.id, this.graph, payload)) {
      if (event === "error") throw new Error(JSON.stringify(data));
      if (event !== "metadata") found.push(data);
    }
    return found;
  }

  /** Sends a message, and returns the id of the run that it began. */
  async begin(text: string, options: RunOptions = {}): Promise<string> {
    const run = await this.client.runs.create(this.id, this.graph, { ...options, input: user(text) });
    return run.run_id;
  }

  /** The messages of the state, which must be in the form that every state has. */
  async messages(): Promise<BaseMessage[]> {
    return messagesOf((await this.client.threads.getState(this.id)).values);
  }

  /** The script of the state, in which no call may wait. */
  async script(): Promise<string[]> {
    return script(pairedMessagesOf({ messages: await this.messages() }));
  }

  /** What every scenario ends with: another turn with a tool, and a history that a provider accepts. */
  async expectToGoOn(options: RunOptions = {}): Promise<void> {
    const before = await this.script();
    const label = `after-${this.id}`;
    const request = this.graph === "agent" ? "what is 20+22" : `call deaf {"label": "${label}"}`;
    const result = this.graph === "agent" ? "42" : `deaf done ${label}`;
    const after = await this.send(request, options);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.slice(before.length)).toEqual([
      `human: ${request}`,
      this.graph === "agent" ? "ai> calculator" : "ai> deaf",
      `tool: ${result}`,
      expect.stringContaining(result),
    ]);
    expect(await this.script()).toEqual(after);
  }
}
