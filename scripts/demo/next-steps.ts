/** Next steps for the reader of the demo: a command to type, or a section of a document. */
export const NEXT_STEPS = [
  ["Talk to the served graph", 'docs/serving.md, "The development server"'],
  ["Make an agent", 'README.md, "Use the library"'],
  ["Serve your own graph", 'README.md, "Serve it"'],
  ["Keep your own agent", 'README.md, "Keep your own agent"'],
  ["Repair a message list", 'README.md, "Repair a list of messages"'],
  ["Repair a stored thread", 'docs/troubleshooting.md, "Repair a stored thread"'],
] as const;
