import type { Backend } from "../backend.ts";

export const ollama: Backend = () => ({});
