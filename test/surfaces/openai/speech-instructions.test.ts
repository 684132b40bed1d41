/** `instructions` of `POST /audio/speech` reach the hosts that know them. */
import { expect, it } from "vitest";
import { testGateway, upstream } from "../../gateway.ts";

const MODEL = "gpt-4o-mini-tts";

it.each([
	["https://api.openai.com/v1", "Speak calmly."],
	["http://gpu/v1", "Speak calmly."],
	["https://openrouter.ai/api/v1", "Speak calmly."],
	["https://api.groq.com/openai/v1", undefined],
])("%s gets the instructions: %s", async (url, instructions) => {
	const { fetch, requests } = upstream(() => new Response(new Uint8Array([0xff, 0xfb, 0x90, 0x64])));
	const { post } = testGateway({
		vars: {
			BACKENDS: { engine: { kind: "openai", url } },
			ROUTES: { [MODEL]: [{ backend: "engine" }] },
			MODELS: { [MODEL]: { task: "Text-to-Speech" } },
		},
		fetch,
	});
	const body = { model: MODEL, input: "Hello", voice: "coral", instructions: "Speak calmly." };
	expect((await post("/v1/audio/speech", body)).status).toBe(200);
	const sent = await requests[0]?.json<Record<string, unknown>>();
	expect(sent).toMatchObject({ model: MODEL, input: "Hello", voice: "coral" });
	expect(sent?.instructions).toBe(instructions);
});
