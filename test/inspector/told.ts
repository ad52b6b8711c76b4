/** What the inspector has to say of threads in trouble, wherever they are stored: a part of the JSON of their page. */

import { expect } from "vitest";

const placed = (label: string) => ({ anchor: expect.any(String), label });

/** The calls of `heedful`, which hangs, and of `deaf`, which has ended. */
export const BATCH = 'call heedful {"label": "hangs", "ms": 600000} and call deaf {"label": "ended"}';

export const TOLD = {
  cancelled: {
    moment: { kind: "next" },
    story: {
      willBeRecovered: [placed("deaf")],
      willBeClosed: [placed(expect.stringMatching(/^heedful: superseded/))],
      unplaced: [],
    },
    request: { brokenRules: 0 },
  },
  /** The same calls one after the other, so that the second has not started. A server does not tell this. */
  queued: {
    story: {
      willBeRecovered: [],
      willBeClosed: [placed("heedful: superseded"), placed("deaf: not-started")],
    },
    additions: [{ isGuess: false }, { isGuess: false }, { isGuess: false }],
  },
  "queued on a server": {
    story: {
      willBeClosed: [placed("heedful: superseded or not started"), placed("deaf: superseded or not started")],
    },
    additions: [{ isGuess: true }, { isGuess: true }, { isGuess: false }],
  },
  "queued and continued": {
    story: { closed: [placed("heedful: superseded"), placed("deaf: not-started")], willBeClosed: [] },
  },
  "cancelled and continued": {
    moment: { kind: "next" },
    story: {
      recovered: [placed("deaf")],
      closed: [placed("heedful: superseded")],
      willBeRecovered: [],
      willBeClosed: [],
    },
  },
  waiting: {
    status: "interrupted",
    moment: {
      kind: "waiting",
      questions: [
        {
          tool: "pay",
          arguments: '{"amount":30}',
          decisions: expect.arrayContaining(["approve", "reject"]),
        },
      ],
    },
    input: [],
  },
  busy: { status: "busy", outcome: "skipped", moment: { kind: "running", nodes: ["tools"] }, input: [] },
  empty: { moment: { kind: "silent" }, messages: 0, input: [] },
} as const;
