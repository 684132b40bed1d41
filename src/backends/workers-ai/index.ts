import type { Backend } from "../backend.ts";

export const workersAi: Backend = () => ({});
