/** The `openai` SDK in a Worker without an address to ask: it follows the gateway's by the binding's `fetch`. */
import OpenAI from "openai";
import { expect, it } from "vitest";
import { AI } from "./ai.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const messages = [{ role: "user" as const, content: "Reply with exactly: Your name is Alice." }];

it.each([
	["workers-ai", "/v1", LLAMA],
	["compat", "", `workers-ai/${LLAMA}`],
] as const)("the openai SDK goes through the gateway's %s", async (provider, path, model) => {
	const client = new OpenAI({
		baseURL: `${await AI.gateway("my-gateway").getUrl(provider as "workers-ai")}${path}`,
		apiKey: "none",
		fetch: (input, init) => AI.fetch(input, init),
		maxRetries: 0,
	});
	const { choices } = await client.chat.completions.create({ model, messages });
	expect(choices[0]?.message.content).toBe("Your name is Alice.");
	const stream = client.chat.completions.stream({ model, messages });
	expect((await stream.finalChatCompletion()).choices[0]?.message.content).toBe("Your name is Alice.");
});
