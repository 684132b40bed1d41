/**
 * `@cloudflare/tanstack-ai` with an account id and a key. It has neither an option for the address nor one for
 * `fetch`: all of it calls the global one.
 */
import { afterAll, beforeAll, inject, vi } from "vitest";
import { ACCOUNT } from "./gateway.ts";
import { redirecting } from "./redirect.ts";
import { tanstackAi } from "./suites/tanstack-ai.ts";

const baseURL = inject("baseURL");
beforeAll(() => void vi.stubGlobal("fetch", redirecting(baseURL)));
afterAll(() => void vi.unstubAllGlobals());

tanstackAi("REST", () => ({ accountId: ACCOUNT, apiKey: "none", maxRetries: 0 }));
