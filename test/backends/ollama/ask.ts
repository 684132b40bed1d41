/** The tasks of the backend against a server of the test's own. */
import { ollama } from "../../../src/backends/ollama/index.ts";
import { askOf } from "../ask.ts";

export const ask = askOf(ollama, { url: "http://localhost:11434", kind: "ollama", model: "llama3.2" });
