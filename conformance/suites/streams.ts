/** Responses that break over HTTP, as streams and in one piece. Each breaks once: a second request gets a whole one. */

import { startModelServer } from "../../test/support/model-server.js";
import { MANNERS, type Manner } from "../../test/support/open-thread.js";
import {
  answerFor,
  FAULT_SAMPLE,
  type FaultCase,
  hasFault,
  respondToWish,
  wish,
} from "../../test/support/stream-faults.js";
import type { ToolSpec } from "../adapter.js";
import { human } from "../stored.js";
import { fault, messageOf, type Outcome, PASS, type Suite, withinTime } from "../suite.js";

export const streams: Suite = {
  name: "streams",
  passes:
    "A response breaks once in one of 15 ways, or in one of the 12 that exist without a stream. Either the turn ends with the whole answer, or the agent says that it failed, and the next message gets a whole answer. No call runs twice, and none with other arguments than the model's.",
  applies: () => true,
  open: async (adapter) => {
    const broken = new Set<string>();
    const respond = respondToWish("look");
    const server = await startModelServer((request) => {
      const missing = missingCities(request.messages);
      // A model that reads an error in the place of a result calls the tool again.
      if (missing.length > 0) return { calls: missing.map((city) => ({ name: "look", args: { city } })) };
      const reply = respond(request);
      if (reply.fault === undefined) return reply;
      const asked = String(request.messages.findLast(({ role }) => role === "user")?.content);
      if (broken.has(asked)) return { ...reply, fault: undefined };
      broken.add(asked);
      return reply;
    });
    const run = async (one: FaultCase, manner: Manner): Promise<Outcome> => {
      const looked: string[] = [];
      const look: ToolSpec = {
        name: "look",
        description: "Looks at the sky.",
        schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        run: ({ city }) => {
          looked.push(String(city));
          return `${city}: clear`;
        },
      };
      const url = server.url.replace(/\/v1$/, "");
      const listens = manner === "listened to";
      const agent = await adapter.open({ endpoint: { host: "openai", url }, tools: [look], listens });
      const seen: unknown[] = [];
      const input = { fault: one.fault, at: one.at, cities: one.cities, listens };
      let failure: string | undefined;
      try {
        if (one.turn === "later") await withinTime(agent.send([human(wish({ cities: ["before"] }))]));
        looked.length = 0;
        const answer = await withinTime(agent.send([human(wish(one))]));
        seen.push({ answer, looked });
        if (answer !== answerFor(one.cities))
          return fault("The run succeeded with an answer that is not whole.", input, seen);
      } catch (error) {
        failure = messageOf(error);
        seen.push({ error: failure });
      }
      const unwanted = looked.find((city) => !one.cities.includes(city));
      if (unwanted !== undefined) return fault(`A call ran with "${unwanted}".`, input, looked);
      if (new Set(looked).size < looked.length) return fault("A call ran twice.", input, looked);
      if (failure === undefined)
        return looked.length === one.cities.length ? PASS : fault("A call did not run.", input, looked);
      try {
        const answer = await withinTime(agent.send([human(wish({ cities: ["after"] }))]));
        if (answer === answerFor(["after"])) return PASS;
        return fault("After the failed run, the answer is not whole.", input, [...seen, answer]);
      } catch (error) {
        return fault(`After the failed run: ${messageOf(error)}`, input, seen);
      }
    };
    const manners = MANNERS.filter((manner) => manner === "listened to" || adapter.makeGraph !== undefined);
    return {
      cases: manners.flatMap((manner) =>
        FAULT_SAMPLE.flat()
          .filter(({ fault }) => hasFault(manner, fault))
          .map((one) =>
            manner === "listened to"
              ? { id: one.title, run: () => run(one, manner) }
              : {
                  id: `${one.title}, ${manner}`,
                  run: () => run({ ...one, cities: one.cities.map((city) => `${city}, ${manner}`) }, manner),
                },
          ),
      ),
      concurrency: 6,
      close: server.stop,
    };
  },
};

/** The cities of the turn that were called, and whose result is not what the tool returns. */
function missingCities(messages: readonly { readonly role: string; readonly content?: string }[]): string[] {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  const results = messages.slice(asked + 1).filter(({ role }) => role === "tool");
  if (results.length === 0) return [];
  const { cities }: FaultCase = JSON.parse(String(messages[asked]?.content));
  const texts = JSON.stringify(results.map(({ content }) => content));
  return cities.filter((city) => !texts.includes(`${city}: clear`));
}
