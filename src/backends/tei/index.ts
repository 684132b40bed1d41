import type { Backend } from "../backend.ts";

export const tei: Backend = () => ({});
