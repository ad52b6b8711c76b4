/** A thread whose every text tries to become a part of the page that shows it. */

/** Runs in a page that writes it as it is: as an element, at the end of an attribute, of a style and of a title. */
const breakOut = (place: string) =>
  `"'></textarea></style></title></script><script>ran("${place}")</script><img src=x onerror=ran("${place}")>`;

/** What each field has, so that a test can find it as a text. */
export const HOSTILE_TEXT = breakOut("text");

export const hostileMetadata = { title: breakOut("title"), [`key ${breakOut("key")}`]: breakOut("value") };

/** The list of messages. The graph that stores it takes messages as they are. */
export function hostileMessages(): object[] {
  const called = breakOut("call id");
  return [
    { type: "human", id: breakOut("human id"), name: breakOut("human name"), content: HOSTILE_TEXT },
    {
      type: "ai",
      id: breakOut("ai id"),
      name: breakOut("ai name"),
      content: [
        { type: "text", text: breakOut("block") },
        { type: breakOut("block type"), name: breakOut("block name"), title: breakOut("block title") },
        { type: "thinking", thinking: breakOut("thinking"), signature: breakOut("signature") },
        { type: "image_url", image_url: { url: "javascript:ran('image')" } },
      ],
      tool_calls: [
        {
          id: called,
          name: breakOut("tool"),
          args: { [breakOut("key")]: breakOut("argument") },
          type: "tool_call",
        },
      ],
      invalid_tool_calls: [
        {
          id: breakOut("invalid id"),
          name: breakOut("invalid"),
          args: breakOut("arguments"),
          error: breakOut("error"),
          type: "invalid_tool_call",
        },
      ],
      response_metadata: { model_provider: breakOut("provider"), model_name: breakOut("model") },
    },
    {
      type: "tool",
      id: breakOut("tool id"),
      name: breakOut("tool name"),
      tool_call_id: called,
      content: `${breakOut("result")}${"<b>".repeat(3_000)}`,
      status: "error",
      additional_kwargs: {
        tether_placeholder: breakOut("cause"),
        tether_recovered: { after: breakOut("after") },
      },
    },
    {
      type: "tool",
      id: breakOut("orphan"),
      tool_call_id: breakOut("nobody"),
      content: "\u202E\u2066\u0000\u001b[31m",
    },
    {
      type: "human",
      id: breakOut("summary id"),
      content: breakOut("summary"),
      additional_kwargs: {
        lc_source: "summarization",
        tether_coverage: { kind: "keep", messages: [breakOut("human id")] },
      },
    },
    { type: "system", id: breakOut("system id"), content: breakOut("system") },
  ];
}
