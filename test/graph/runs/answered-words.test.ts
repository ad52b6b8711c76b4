/** What a client's input says that the thread does not have is answered: edits, words under another id, late results. */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { createAgentGraph } from "../../../src/index.js";
import { tetherMiddleware, tetherState } from "../../../src/langchain.js";
import { lines } from "../../support/lines.js";
import { calls, FunctionModel } from "../../support/models.js";
import { inThread, messagesOf, script } from "../../support/thread.js";
import { createProbe } from "../../support/tools.js";

const KINDS = ["createAgentGraph", "tetherMiddleware"] as const;
const CHANNELS = ["full", "delta"] as const;
const DURABILITIES = ["async", "sync"] as const;

const human = (text: string, id: string) => new HumanMessage({ content: text, id });

/** A thread whose model repeats the last words, and calls a tool if they say so. */
function open(kind: (typeof KINDS)[number], channel: (typeof CHANNELS)[number], durability: string) {
  const model = new FunctionModel(({ messages, text }) => {
    const last = messages.at(-1);
    if (last?.type === "tool") return "Called.";
    return text.startsWith("Call") ? calls(["fast", {}, `call-${messages.length}`]) : `Re: ${text}`;
  });
  const parts = { model, tools: [createProbe().fast], checkpointer: new MemorySaver() };
  const graph =
    kind === "createAgentGraph"
      ? createAgentGraph({ ...parts, messagesChannel: channel, maxIterations: 2 })
      : createAgent({
          ...parts,
          stateSchema: tetherState({ delta: channel === "delta" }),
          middleware: [tetherMiddleware()],
        } as never).graph;
  const run = (messages: readonly BaseMessage[], config: object = inThread("1")) =>
    graph.invoke({ messages } as never, { ...config, durability } as never);
  const read = async () => script(messagesOf((await graph.getState(inThread("1"))).values));
  return { graph, model, run, read };
}

const cases = KINDS.flatMap((kind) =>
  CHANNELS.flatMap((channel) => DURABILITIES.map((durability) => [kind, channel, durability] as const)),
);

describe.each(cases)("With %s, a %s channel and the durability %s", (...how) => {
  const thread = async () => {
    const opened = open(...how);
    await opened.run([human("One.", "1")]);
    await opened.run([human("Call two.", "2")]);
    await opened.run([human("Three.", "3")]);
    const before = opened.model.requests.length;
    const asked = () => opened.model.requests.slice(before).map(({ messages }) => script(messages));
    return { ...opened, asked };
  };
  const TWO = lines(
    "human: One. | ai: Re: One. | human: Call two. | ai> fast | tool: fast done - | ai: Called.",
  );

  it("an edit of the last message is answered, and the old answer is not in this branch", async () => {
    const { run, read, graph } = await thread();
    await run([human("Drei.", "3")]);
    expect(await read()).toEqual([...TWO, "human: Drei.", "ai: Re: Drei."]);
    const histories: string[][] = [];
    for await (const { values } of graph.getStateHistory(inThread("1")))
      histories.push(script(messagesOf(values)));
    expect(histories).toContainEqual([...TWO, "human: Three.", "ai: Re: Three."]);
  });

  it("an edit of an earlier message begins there, with new limits", async () => {
    const { run, read, asked } = await thread();
    await run([human("Call zwei.", "2")]);
    const before = lines("human: One. | ai: Re: One. | human: Call zwei.");
    expect(asked()[0]).toEqual(before);
    expect(await read()).toEqual([...before, ...lines("ai> fast | tool: fast done - | ai: Called.")]);
    await run([human("Eins.", "1")]);
    expect(await read()).toEqual(lines("human: Eins. | ai: Re: Eins."));
  });

  it("an edit that is sent again changes nothing", async () => {
    const { run, read, asked } = await thread();
    await run([human("Drei.", "3")]);
    await run([human("Drei.", "3")]);
    expect(asked()).toHaveLength(1);
    expect(await read()).toEqual([...TWO, "human: Drei.", "ai: Re: Drei."]);
  });

  it("an edit before a new message leaves out nothing", async () => {
    const { run, read } = await thread();
    await run([human("Eins.", "1"), human("Four.", "4")]);
    const [, ...rest] = TWO;
    const all = [
      "human: Eins.",
      ...rest,
      ...lines("human: Three. | ai: Re: Three. | human: Four. | ai: Re: Four."),
    ];
    expect(await read()).toEqual(all);
  });

  it("words under the id of an answer or a result are a message of their own", async () => {
    for (const type of ["ai", "tool"]) {
      const { run, read, graph, asked } = await thread();
      const stored = messagesOf((await graph.getState(inThread("1"))).values);
      const taken = stored.findLast((message) => message.type === type)?.id ?? "";
      await run([human("Well?", taken)]);
      const all = [...TWO, ...lines("human: Three. | ai: Re: Three. | human: Well? | ai: Re: Well?")];
      expect(await read()).toEqual(all);
      await run([human("Well?", taken)]);
      expect([type, asked().length, await read()]).toEqual([type, 1, all]);
    }
  });

  it("the late result of a call is answered", async () => {
    const { run, graph, read, asked } = await thread();
    const call = { id: "late", name: "fast", args: {} };
    await graph.updateState(inThread("1"), {
      messages: [human("Call it.", "4"), new AIMessage({ content: "", id: "5", tool_calls: [call] })],
    } as never);
    await run([human("And?", "6")]);
    const before = asked().length;
    await run([new ToolMessage({ content: "It is done.", tool_call_id: "late" })]);
    expect(asked()).toHaveLength(before + 1);
    expect(asked().at(-1)).toContain("tool: It is done.");
    expect((await read()).filter((line) => line.startsWith("tool"))).toEqual(
      lines("tool: fast done - | tool: It is done."),
    );
    expect((await read()).at(-1)).toMatch(/^ai: /);
  });
});
