import type { Backend } from "../backend.ts";

export const cog: Backend = () => ({});
