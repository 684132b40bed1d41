import { generateText } from "ai";
import { expect, it } from "vitest";
import { createWorkersAI } from "workers-ai-provider";
import { workersAiProvider } from "../suites/workers-ai-provider.ts";
import { workersAiProviderTasks } from "../suites/workers-ai-provider-tasks.ts";
import { AI } from "./ai.ts";

const connect = () => createWorkersAI({ binding: AI });
workersAiProvider("binding", connect);
workersAiProviderTasks("binding", connect);

it("workers-ai-provider goes through a gateway", async () => {
	const workersai = createWorkersAI({ binding: AI, gateway: { id: "default", skipCache: true } });
	const model = workersai("@cf/moonshotai/kimi-k2.6", { sessionAffinity: "session-1" });
	const { text } = await generateText({ model, prompt: "Reply with exactly: Your name is Alice." });
	expect(text).toContain("Alice");
});
