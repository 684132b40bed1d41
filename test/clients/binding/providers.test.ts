/** Models that Anthropic and Google answer for, through the runtime's own `Ai` and the plugin's gateway behind it. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createWorkersAI } from "workers-ai-provider";
import { CLAUDE, GEMINI } from "../providers/routes.ts";
import { onProviders } from "../suites/workers-ai-provider-providers.ts";

const { PROVIDED } = env as unknown as { PROVIDED: Ai };

onProviders("binding", () => createWorkersAI({ binding: PROVIDED }));

/** Ids of third parties are none of the typed overloads. */
const run = (model: string, inputs: object, options?: object): Promise<unknown> =>
	PROVIDED.run(model as keyof AiModels, inputs as never, options as never);
const messages = [{ role: "user", content: "My name is Alice. What is my name?" }];

describe("AI.run on a model of a third party", () => {
	it("is Anthropic's own shape on Anthropic's, whole and streamed", async () => {
		const inputs = { messages, max_tokens: 64 };
		expect(await run(CLAUDE, inputs)).toEqual({
			id: expect.stringMatching(/^msg_/),
			type: "message",
			role: "assistant",
			model: CLAUDE,
			content: [{ type: "text", text: "Your name is Alice." }],
			stop_reason: "end_turn",
			stop_sequence: null,
			usage: {
				input_tokens: 20,
				cache_creation_input_tokens: 0,
				cache_read_input_tokens: 7,
				output_tokens: 9,
				neurons: expect.any(Number),
			},
		});
		const stream = (await run(CLAUDE, { ...inputs, stream: true })) as ReadableStream;
		const text = await new Response(stream).text();
		// The provider's `ping` goes on as a comment.
		expect(text).toMatch(/^(?:: ping\n\n)?event: message_start\n/);
		expect(text).toMatch(/event: message_stop\ndata: \{"type":"message_stop"\}\n\n$/);
		const said = [...text.matchAll(/"text_delta","text":"([^"]*)"/g)].map(([, piece]) => piece);
		expect(said.join("")).toBe("Your name is Alice.");
	});

	it("is OpenAI's chat on Google's", async () => {
		expect(await run(GEMINI, { messages }, { gateway: { id: "default" } })).toMatchObject({
			object: "chat.completion",
			model: GEMINI,
			choices: [{ message: { content: "Your name is Alice." }, finish_reason: "stop" }],
		});
	});
});
