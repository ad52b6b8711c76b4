/** What a reader of the demo may want next: a command to type, or a section of a document. */
export const NEXT_STEPS = [
  ["Talk to the served graph", "npm run chat"],
  ["Make an agent", 'README.md, "Use the library"'],
  ["Serve a graph of your own", 'README.md, "Serve it"'],
  ["Keep your own agent", 'README.md, "Keep your own agent"'],
  ["Mend a list of messages", 'README.md, "Repair a list of messages"'],
  ["Mend a thread", 'docs/troubleshooting.md, "Repair a stored thread"'],
] as const;
