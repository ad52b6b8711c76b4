/** What a reader of the demo may want next, and how to get there. The sections are those of the README. */
export const NEXT_STEPS = [
  ["Talk to the served graph", "npm run chat"],
  ["Serve a graph of your own", 'README.md, "Serve it"'],
  ["Make an agent", 'README.md, "Use the library"'],
  ["Keep your own agent", 'README.md, "Under an agent of your own"'],
  ["Mend a list of messages", 'README.md, "Without a graph"'],
] as const;
