import { TASKS as PRODUCTION } from "../../../src/tasks/index.ts";
import { languageDetection } from "../language-detection/index.ts";

export const TASKS = { ...PRODUCTION, "language-detection": languageDetection };
