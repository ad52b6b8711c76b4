import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reportOn } from "../../src/doctor/findings.js";
import type { EndedRun, StoredThread } from "../../src/doctor.js";
import { explainInput } from "../../src/index.js";
import { viewMessage } from "../../src/inspector/view/message-view.js";
import { formOf, type RequestForm } from "../../src/inspector/view/request.js";
import { rowsOf } from "../../src/inspector/view/rows.js";
import { type ShownStep, stepOf, withBranches } from "../../src/inspector/view/steps.js";
import { type ThreadView, viewThread } from "../../src/inspector/view/thread-view.js";
import { buildForeign, foreignHistories } from "../support/dialect-arbitraries.js";
import { DIALECT_NAMES, nextHistoryOf, threadOfList } from "../support/internals.js";
import { ai, human, messagesIn, summary, system } from "../support/make-messages.js";
import { runs } from "../support/test-tools.js";

const STORED = { createdAt: undefined, metadata: {}, messages: undefined, next: ["model"], tasks: [] };
const at = (checkpointId: string, parentId?: string): ShownStep =>
  stepOf({ ...STORED, checkpointId, ...(parentId !== undefined && { parentId }) }, undefined, null);
const STEP = at("c2", "c1");

const READING = {
  threadId: "t",
  graph: "agent",
  updatedAt: undefined,
  mayRun: undefined,
  knowsRuns: true,
  channel: "messages",
  nodesBefore: [],
  namespace: "",
  subgraphs: [],
  queued: 0,
  values: {},
  metadata: {},
  repairedBy: "agent" as const,
  isMade: true,
  findings: [],
  knowsSettings: true,
  summary: undefined,
  repairs: [],
  stopped: undefined,
  errors: [],
  steps: [STEP],
  step: STEP,
  isLatest: true,
  form: { options: { dialect: "openai" as const }, origin: "chosen" as const },
  before: undefined,
};

function view(
  history: BaseMessage[],
  given: Partial<RequestForm["options"]> = {},
  before?: BaseMessage[],
  page?: number,
): ThreadView {
  const form = { ...READING.form, options: { ...READING.form.options, ...given } };
  const report = reportOn(threadOfList(history));
  const earlier = before && { step: at("c1"), history: before, isMade: true, form };
  const moment = { kind: "asked" } as const;
  return viewThread({ ...READING, report, moment, history, form, before: earlier }, { page });
}

/** The view of a thread in which nothing runs, and to which a user may write. */
function viewNext(history: BaseMessage[], given: Partial<StoredThread> = {}): ThreadView {
  const thread = { ...threadOfList(history), checkpointId: "c2", tellsStarts: true, ...given };
  const { messages, ...next } = nextHistoryOf(thread);
  const moment = { kind: "next", ...next } as const;
  return viewThread({ ...READING, report: reportOn(thread), moment, history: messages }, {});
}

/** Each row as `stored | sent`, with the marks in brackets. */
function linesOf({ rows }: ThreadView): string[] {
  const cell = (message: BaseMessage | undefined, position: string, marks: readonly { word: string }[]) =>
    `${message === undefined ? "-" : `${viewMessage(message).role} ${position}`}${marks.length > 0 ? ` [${marks.map(({ word }) => word).join(", ")}]` : ""}`;
  return rows.flatMap((shown) => {
    const lines = ("rows" in shown ? shown.rows : [shown]).map((row) => {
      const isStored = row.position !== undefined;
      const left = isStored ? cell(row.message, `${row.position}`, row.own) : "-";
      const sentAt = `${row.sentPosition}${row.kind === "as-stored" ? "" : "*"}`;
      return `${left} | ${cell(row.sent, sentAt, isStored ? row.fate : [...row.own, ...row.fate])}`;
    });
    return "rows" in shown ? [`(${shown.word}`, ...lines, ")"] : lines;
  });
}

const answer = (id: string, content = id) => new AIMessage({ id, content });
const idsOf = (list: readonly BaseMessage[]) => list.map(({ id = "" }) => id);
const marked = (id: string, call: string, additional_kwargs: Record<string, unknown>) =>
  new ToolMessage({ id, tool_call_id: call, name: `tool_${call}`, content: "done", additional_kwargs });
const recovered = (id: string, call: string) => marked(id, call, { tether_recovered: {} });
const covered = [...messagesIn("a b(c1) c:c1 d() e(c2)"), recovered("f", "c2")];

describe("the rows of a thread", () => {
  it.each<[title: string, history: BaseMessage[], also: object, lines: string[], given?: object]>([
    [
      "say what was recovered, and why a call has a placeholder",
      [
        ...[human("a"), ai("b", "c1", "c2"), recovered("d", "c1")],
        ...[marked("e", "c2", { tether_placeholder: "superseded" }), human("f")],
      ],
      {
        story: {
          recovered: [{ anchor: "stored-3", label: "tool_c1" }],
          closed: [{ anchor: "stored-4", label: "tool_c2: superseded" }],
          unplaced: [],
        },
      },
      [
        "user 1 | user 1",
        "assistant 2 | assistant 2",
        "tool result 3 [recovered] | tool result 3",
        "tool result 4 [placeholder: superseded] | tool result 4",
        "user 5 | user 5",
      ],
    ],
    [
      "show what only the request has: the system prompt, a placeholder with its cause, a bridge",
      messagesIn("b(call00001) f"),
      { brokenInRequest: 0, totals: { stored: 2, sent: 6, added: 4, leftOut: 0 } },
      [
        "- | system 1* [system prompt]",
        "- | user 2* [bridge]",
        "assistant 1 | assistant 3* [missing result, first user, form]",
        "- | tool result 4* [placeholder: superseded]",
        "- | assistant 5* [bridge]",
        "user 2 | user 6",
      ],
      { systemPrompt: "Be brief.", dialect: "strict" },
    ],
    [
      "fold what a summary covers, and never a repair",
      [...covered, summary("s", { kind: "keep", messages: idsOf(covered) }), human("z")],
      {},
      [
        "(covered",
        "user 1 | - [covered]",
        "assistant 2 | - [covered]",
        "tool result 3 | - [covered]",
        "assistant 4 | - [covered]",
        "assistant 5 | - [covered]",
        ")",
        "tool result 6 [recovered] | - [covered]",
        "user 7 [summary of 6 messages] | user 1",
        "user 8 | user 2",
      ],
    ],
    [
      "show a moved result at both places",
      messagesIn("a b(c1) f c:c1"),
      {
        report: { findings: [{ code: "pairing/misplaced-result" }] },
      },
      [
        "user 1 | user 1",
        "assistant 2 | assistant 2 [missing result]",
        "- | tool result 3* [moved, orphan result]",
        "user 3 | user 4",
        "tool result 4 | - [moved, orphan result]",
      ],
    ],
    [
      "keep the result that is said to be moved off its row, and not the one that it changes places with",
      messagesIn("a b(c1,c2) d:c2 c:c1"),
      {},
      [
        "user 1 | user 1",
        "assistant 2 | assistant 2",
        "tool result 3 | - [moved]",
        "tool result 4 | tool result 3",
        "- | tool result 4* [moved]",
      ],
    ],
    [
      "name the places of messages that are sent as one",
      messagesIn("s! a t! b"),
      { rows: [{ storedElsewhere: [3] }, {}, { sentElsewhere: 1 }, {}] },
      [
        "system 1 | system 1* [joined, system position]",
        "user 2 | user 2",
        "system 3 | - [joined, system position]",
        "user 4 | user 3",
      ],
      { dialect: "minimax" },
    ],
  ])("%s", (_, history, also, lines, given = {}) => {
    const seen = view(history, given);
    expect(linesOf(seen)).toEqual(lines);
    expect(seen).toMatchObject(also);
  });

  it("are folded in a long thread, also messages of which the form alone changes for a strict provider", () => {
    const turns = Array.from({ length: 8 }, (_, turn) => [human(`h${turn}`), ai(`a${turn}`)]).flat();
    const renamed = messagesIn("a b(call_1) c:call_1 d()");
    const lines = linesOf(view([...renamed, ...turns, human("z")], { dialect: "mistral" }));
    expect([lines[0], lines[2]]).toEqual([
      "(with the same text as stored",
      "assistant 2 | assistant 2* [call id]",
    ]);
    expect(linesOf(view([...renamed, human("z")], { dialect: "mistral" }))[0]).toBe("user 1 | user 1");
  });

  it("show each stored and each sent message once, each in its order", () => {
    fc.assert(
      fc.property(foreignHistories(), fc.constantFrom(...DIALECT_NAMES), (foreign, dialect) => {
        const history = buildForeign(foreign);
        const explanation = explainInput(history, { dialect });
        const next = { added: new Map(), guessed: new Set<BaseMessage>() };
        const rows = rowsOf({
          history,
          explanation,
          next,
          novelty: undefined,
          isAsked: true,
          findings: [],
          refused: [],
        });
        expect(rows.flatMap(({ position }) => position ?? [])).toEqual(history.map((_, index) => index + 1));
        expect(rows.flatMap(({ sent }) => sent ?? [])).toEqual(explanation.input);
        for (const { position, sentPosition, sentElsewhere } of rows)
          if (position !== undefined)
            expect([sentPosition ?? sentElsewhere].flatMap((at) => (at === undefined ? [] : at - 1))).toEqual(
              explanation.stored[position - 1]?.inputIndexes,
            );
      }),
      runs(300),
    );
  });

  it("say what was shortened and left out to fit a token limit", () => {
    const turns = Array.from({ length: 12 }, (_, turn) => [
      human(`h${turn}`, "word ".repeat(40)),
      ai(`a${turn}`),
    ]);
    const history = [...turns.flat(), human("e", "word ".repeat(900))];
    const rows = linesOf(view(history, { maxTokens: 150 })).join("\n");
    for (const word of ["left out, over window", "gap note", "shortened"]) expect(rows).toContain(word);
  });

  it("tell each model's state that another model does not get", () => {
    const thought = new AIMessage({
      id: "b",
      content: [
        { type: "thinking", thinking: "Hm.", signature: "s" },
        { type: "text", text: "Yes." },
      ],
      response_metadata: { model_provider: "anthropic", model_name: "claude" },
    });
    const [, row] = view([human("a"), thought, human("c")]).rows;
    if (row === undefined || "rows" in row || row.sent === undefined) throw new Error("Expected a row.");
    expect(viewMessage(thought)).toMatchObject({ maker: "anthropic · claude", reasoning: { text: "Hm." } });
    expect(row.fate.map(({ code }) => code)).toContain("form");
    expect(viewMessage(row.sent).reasoning.text).toBe("");
  });

  it("stay few for a long thread, of which the last page comes first", () => {
    const history = Array.from({ length: 300 }, (_, index) => (index % 2 === 0 ? human : ai)(`${index}`));
    const last = view(history);
    expect(last.page).toEqual({ number: 3, count: 3, start: 200, end: 300 });
    const rows = linesOf(last);
    expect([rows[0], rows[1], rows.at(-2)]).toEqual([
      "(as stored",
      "user 201 | user 201",
      "user 299 | user 299",
    ]);
    expect(rows).toHaveLength(102);
    expect(linesOf(view(history, {}, undefined, 2))[0]).toBe("user 101 | user 101");
    expect(last.pageOfPlace("stored-101")).toBe(2);
  });

  it("fill the last page, and leave the first one short", () => {
    const history = Array.from({ length: 201 }, (_, index) => human(`h${index}`));
    expect(view(history).page).toMatchObject({ number: 3, start: 101, end: 201 });
    const first = view(history, {}, undefined, 1);
    expect(first.page).toMatchObject({ start: 0, end: 1 });
    expect([first.pageOfPlace("stored-1"), first.pageOfPlace("stored-2")]).toEqual([1, 2]);
  });

  it("write characters that move or hide text as escapes, and cut long texts", () => {
    const { content } = viewMessage(human("a", `\u202Eevil\u0000${"x".repeat(9_000)}`));
    expect(content.text.startsWith("\\u202eevil\\u0000xx")).toBe(true);
    expect(content.cut).toBe(5_006);
    const unseen = viewMessage(human("a", "Hi\u061C\u{E0041}\u{E0142}👍🏽"));
    expect(unseen.content.text).toBe("Hi\\u061c\\u{e0041}\\u{e0142}👍🏽");
  });
});

describe("the next request", () => {
  it("has what an ended run left, and closes the other calls", () => {
    const history = messagesIn("a b(c1,c2)");
    const ended: EndedRun = {
      ...{ checkpointId: "c2", fate: "pending", history, written: [marked("", "c2", {})] },
      ...{
        interrupts: [],
        removed: new Set(),
        nodes: [],
        unstarted: [],
        late: [],
        headId: undefined,
        otherChannels: [],
      },
    };
    const seen = viewNext(history, { endedRuns: [ended] });
    expect(linesOf(seen)).toEqual([
      "user 1 | user 1",
      "assistant 2 | assistant 2",
      "- | tool result 3* [will be closed: superseded]",
      "- | tool result 4* [will be recovered]",
    ]);
    expect(seen.story).toMatchObject({
      willBeClosed: [{ label: "tool_c1: superseded" }],
      willBeRecovered: [{ label: "tool_c2", anchor: "sent-4" }],
    });
    expect(seen.report.findings.map(({ code }) => code)).toContain("state/pending-result");
  });

  it("says what has no place, and shows a result that is not at its call where it is sent", () => {
    const seen = viewNext(messagesIn("a b(c1) f c:c1 d:c9"));
    expect(linesOf(seen)).toEqual([
      "user 1 | user 1",
      "assistant 2 | assistant 2 [missing result]",
      "- | tool result 3* [moved, orphan result]",
      "user 3 | user 4",
      "tool result 4 | - [moved, orphan result]",
      "tool result 5 | - [left out, orphan result]",
    ]);
    expect(seen.story.unplaced).toMatchObject([{ anchor: "stored-5" }]);
  });

  it("is not made of a list that nobody continues", () => {
    const list = threadOfList(messagesIn("a b(c1)"));
    expect([...nextHistoryOf(list, null).added.values()]).toEqual(["closed"]);
  });
});

describe("the branches of a thread", () => {
  it("are told by what each step continues", () => {
    const steps = withBranches([at("e", "b"), at("d", "c"), at("c", "b"), at("b", "a"), at("a")]);
    expect(steps.map(({ checkpointId, branch }) => `${checkpointId}${branch}`).join()).toBe("e1,d2,c2,b1,a1");
  });
});

describe("the difference to the request before", () => {
  it("is only what is new while the prompt-cache prefix holds", () => {
    const before = messagesIn("a b()");
    expect(view([...before, human("c")], {}, before).difference).toMatchObject({
      isPrefixKept: true,
      prefix: 2,
      novelty: ["same", "same", "new"],
      counts: { same: 2, new: 1, changed: 0, gone: 0 },
    });
  });

  it("says where the prefix breaks, what changed and what is gone", () => {
    const before = messagesIn("a b c() d");
    const now = [human("a"), answer("c", "another text"), ...messagesIn("d e")];
    const { difference } = view(now, {}, before);
    expect(difference).toMatchObject({
      isPrefixKept: false,
      prefix: 1,
      novelty: ["same", "changed", "same", "new"],
      gone: [{ position: 2, message: { text: "text of b" } }],
    });
  });
});

describe("a step", () => {
  const stepWith = (fields: object) => stepOf({ ...STORED, checkpointId: "c1", ...fields }, undefined, null);

  it("says whether the model was asked, who responded, and what the provider counted", () => {
    const tokens = { input_tokens: 90, output_tokens: 3, total_tokens: 93 };
    const response = {
      type: "ai",
      content: "Yes.",
      response_metadata: { model_provider: "anthropic", model_name: "claude" },
      usage_metadata: { ...tokens, input_token_details: { cache_read: 64 } },
    };
    const tasks = [{ node: "model", result: { messages: [response] } }];
    expect(stepWith({ messages: ["a"], tasks, metadata: { step: 3, run_id: "r" } })).toMatchObject({
      number: 3,
      messages: 1,
      asksModel: true,
      runId: "r",
      response: { dialect: "anthropic", model: "claude", inputTokens: 90, cachedTokens: 64 },
    });
  });

  it("has no response if no model was asked", () => {
    expect(stepWith({ next: ["tools"] })).toMatchObject({ asksModel: false, response: null, messages: 0 });
  });
});

describe("the form of a request", () => {
  const SERVED = { dialect: "openai", systemPrompt: "Served.", modelId: "gpt", maxTokens: 500 } as const;
  const nothing = { dialect: undefined, maxTokens: undefined };
  const messages = [system("x")];

  it("is that of the server, if nothing else is known", () => {
    expect(formOf(messages, undefined, nothing, SERVED)).toEqual({ origin: "server", options: SERVED });
  });

  it("is that of the response and of the run's context", () => {
    const response = {
      ...{ provider: "anthropic", dialect: "anthropic" as const, model: "claude" },
      ...{ inputTokens: null, cachedTokens: null, outputTokens: null, reduced: [] },
    };
    const told = { systemPrompt: "Of the run.", maxToolCallsFromHistory: 2 };
    expect(formOf(messages, { ...STEP, response }, nothing, SERVED, { ...told, model: 7 })).toMatchObject({
      origin: "response",
      options: { ...told, dialect: "anthropic", modelId: "claude" },
    });
  });

  it("is what the reader chose, without a model of another dialect", () => {
    const { origin, options } = formOf(messages, undefined, { dialect: "mistral", maxTokens: 9 }, SERVED);
    expect(origin).toBe("chosen");
    expect(options).toMatchObject({ dialect: "mistral", maxTokens: 9 });
    expect(options.modelId).toBeUndefined();
  });

  it("is that of the thread's last response for a graph of which nothing is known", () => {
    const made = [new AIMessage({ content: "x", response_metadata: { model_provider: "anthropic" } })];
    const form = { origin: "thread", options: { dialect: "anthropic" } };
    expect(formOf(made, undefined, nothing, undefined)).toEqual(form);
    expect(formOf([], undefined, nothing, undefined).options.dialect).toBe("as-stored");
  });
});
