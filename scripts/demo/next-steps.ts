/** Next steps for the reader of the demo. The section names are those of the README. */
export const NEXT_STEPS = [
  ["Talk to the served graph", "npm run chat"],
  ["Serve your own graph", 'README.md, "Serve it"'],
  ["Make an agent", 'README.md, "Use the library"'],
  ["Keep your own agent", 'README.md, "Under an agent of your own"'],
  ["Repair a message list", 'README.md, "Without a graph"'],
] as const;
