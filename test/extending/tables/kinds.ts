import { KINDS as PRODUCTION } from "../../../src/backends/kinds.ts";
import { lingua } from "../lingua.ts";

export const KINDS = { ...PRODUCTION, lingua: { load: async () => lingua } };
export const BACKEND_KINDS = Object.keys(KINDS);
