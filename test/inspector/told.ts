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
      willBeClosed: [placed("heedful: superseded")],
      unplaced: [],
    },
    request: { brokenRules: 0 },
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
          arguments: '{\n  "amount": 30\n}',
          decisions: expect.arrayContaining(["approve", "reject"]),
        },
      ],
    },
    input: [],
  },
  busy: { status: "busy", outcome: "skipped", moment: { kind: "running", nodes: ["tools"] }, input: [] },
  empty: { moment: { kind: "silent" }, messages: 0, input: [] },
} as const;
