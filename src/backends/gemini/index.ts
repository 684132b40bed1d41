import type { Backend } from "../backend.ts";

export const gemini: Backend = () => ({});
