/** A thread whose every text tries to become a part of the page that shows it. */

/** Runs in a page that writes it as it is: as an element, at the end of an attribute, of a style and of a title. */
const breakOut = (place: string) =>
  `"'></textarea></style></title></script><script>ran("${place}")</script><img src=x onerror=ran("${place}")>`;

/** What each field has, so that a test can find it as a text. */
export const HOSTILE_TEXT = breakOut("text");

export const hostileMetadata = { title: breakOut("title"), [`key ${breakOut("key")}`]: breakOut("value") };

/** Fields whose texts say where they are. */
const broken = (...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name.split(" ").at(-1) ?? "", breakOut(name)]));

/** The list of messages. The graph that stores it takes messages as they are. */
export function hostileMessages(): object[] {
  const id = breakOut("call id");
  const covered = { kind: "keep", messages: [breakOut("human id")] };
  return [
    { type: "human", ...broken("human id", "human name"), content: HOSTILE_TEXT },
    {
      type: "ai",
      ...broken("ai id", "ai name"),
      content: [
        { type: "text", text: breakOut("block") },
        broken("block type", "block name", "block title"),
        { type: "thinking", ...broken("thinking", "signature") },
        { type: "image_url", image_url: { url: "javascript:ran('image')" } },
      ],
      tool_calls: [
        { id, name: breakOut("tool"), args: { [breakOut("key")]: breakOut("argument") }, type: "tool_call" },
      ],
      invalid_tool_calls: [
        {
          ...broken("invalid id", "error"),
          name: breakOut("invalid"),
          args: breakOut("arguments"),
          type: "invalid_tool_call",
        },
      ],
      response_metadata: { model_provider: breakOut("provider"), model_name: breakOut("model") },
    },
    {
      type: "tool",
      ...broken("tool id", "tool name"),
      tool_call_id: id,
      content: `${breakOut("result")}${"<b>".repeat(3_000)}`,
      status: "error",
      additional_kwargs: { tether_placeholder: breakOut("cause"), tether_recovered: broken("after") },
    },
    {
      type: "tool",
      ...broken("orphan id"),
      tool_call_id: breakOut("nobody"),
      content: "\u202E\u2066\u0000\u001b[31m",
    },
    {
      type: "human",
      ...broken("summary id"),
      content: breakOut("summary"),
      additional_kwargs: { lc_source: "summarization", tether_coverage: covered },
    },
    { type: "system", ...broken("system id"), content: breakOut("system") },
  ];
}
