import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ModelServer, startModelServer } from "../../support/model-server.js";
import { looked, openServerThread } from "../../support/open-server-thread.js";
import {
  answerFor,
  CALL_TEXT,
  FAULT_THREADS,
  respondToWish,
  shown,
  wish,
} from "../../support/stream-faults.js";

describe("a stream whose", () => {
  let server: ModelServer;
  beforeAll(async () => {
    server = await startModelServer(respondToWish("look"));
  });
  afterAll(() => server.stop());

  const threads = FAULT_THREADS.map((turns) => ({
    title: turns[0].title.replace("first turn", "both turns"),
    turns,
  }));

  it.concurrent.each(threads)("$title: the response is asked for again, and is whole", async ({ turns }) => {
    const thread = openServerThread(server);
    let known = 0;
    for (const fault of turns) {
      const { messages, events } = await thread.send(wish(fault));
      const state = await thread.read();

      expect(state.at(-1)?.text).toBe(answerFor(fault.cities));
      expect(shown(messages)).toEqual(shown(state.slice(known)));
      expect(messages.map(({ text }) => text)).toContain(CALL_TEXT);
      for (const city of fault.cities) expect(looked.filter((name) => name === city)).toEqual([city]);
      expect(events.map(({ type }) => type)).toEqual(["answer-broken", "run-end"]);
      const { length } = fault.cities;
      expect(events.at(-1)).toMatchObject({ calls: length, results: length, usedFallback: true });
      known = state.length;
    }
  });
});
