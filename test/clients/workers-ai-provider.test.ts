/**
 * `workers-ai-provider` with an account id and a key. It has no option for the address, but one for `fetch`, which
 * all of it uses but the transcription with nova-3: that calls the global one.
 */
import { afterAll, beforeAll, inject, vi } from "vitest";
import { createWorkersAI } from "workers-ai-provider";
import { ACCOUNT } from "./gateway.ts";
import { redirecting } from "./redirect.ts";
import { workersAiProvider } from "./suites/workers-ai-provider.ts";
import { workersAiProviderTasks } from "./suites/workers-ai-provider-tasks.ts";

const baseURL = inject("baseURL");
const fetch = redirecting(baseURL);
beforeAll(() => void vi.stubGlobal("fetch", fetch));
afterAll(() => void vi.unstubAllGlobals());

const connect = () => createWorkersAI({ accountId: ACCOUNT, apiKey: "none", fetch });
workersAiProvider("REST", connect);
workersAiProviderTasks("REST", connect);
