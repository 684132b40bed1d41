import type { Backend, BackendKind } from "./backend.ts";
import { openai } from "./openai/index.ts";
import { simulator } from "./simulator/index.ts";

export const BACKENDS: Record<BackendKind, Backend> = { simulator, openai };
