import { KINDS as PRODUCTION } from "../../../src/backends/kinds.ts";

export const KINDS = { ...PRODUCTION, lingua: {} };
export const BACKEND_KINDS = Object.keys(KINDS);
