import type { Backend } from "../backend.ts";

export const anthropic: Backend = () => ({});
