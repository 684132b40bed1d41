import { LOADERS as PRODUCTION } from "../../../src/backends/loaders.ts";
import { lingua } from "../lingua.ts";

export const LOADERS = { ...PRODUCTION, lingua: async () => lingua };
