/** The addresses of Azure's clients: the deployment is the model. */
import { describe, expect, it } from "vitest";
import { completion, testGateway, upstream } from "../../gateway.ts";

const VERSION = "?api-version=2025-04-01-preview";
const BASES = ["/openai/deployments", "/client/v4/accounts/local/ai/openai/deployments"];
const VARS = {
	BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" } },
	ROUTES: { "gpt-*": [{ backend: "engine" }], "@cf/*": [{ backend: "simulator" }] },
};

function gateway() {
	const { fetch, requests } = upstream(() => Response.json(completion("Hello")));
	const { app } = testGateway({ vars: VARS, fetch });
	const send = async (path: string, body: unknown, headers: Record<string, string> = {}) =>
		app.request(`http://gateway${path}${VERSION}`, {
			method: "POST",
			...(body instanceof FormData
				? { body, headers }
				: { body: JSON.stringify(body), headers: { "content-type": "application/json", ...headers } }),
		});
	return { send, requests };
}

const WAV = Uint8Array.from(
	atob("UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQgAAAAAAAAAAAAAAA=="),
	(character) => character.charCodeAt(0),
);
const messages = [{ role: "user", content: "Hi" }];

describe.each(BASES)("%s", (base) => {
	it.each([{}, { model: "gpt-4o" }])(
		"runs the deployment, whatever model the body %j names",
		async (body) => {
			const { send, requests } = gateway();
			const response = await send(`${base}/gpt-5.6-sol/chat/completions`, { messages, ...body });
			expect([response.status, await response.json()]).toMatchObject([
				200,
				{ model: "gpt-5.6-sol", choices: [{ message: { content: "Hello" } }] },
			]);
			expect(requests[0]?.url).toBe("http://engine/v1/chat/completions");
			expect(await requests[0]?.json()).toMatchObject({ model: "gpt-5.6-sol" });
		},
	);

	it("takes a deployment with slashes", async () => {
		const { send } = gateway();
		const response = await send(`${base}/@cf/baai/bge-small-en-v1.5/embeddings`, { input: "Hi" });
		expect([response.status, await response.json()]).toMatchObject([200, { object: "list" }]);
	});

	it("takes a form without a model", async () => {
		const { send } = gateway();
		const form = new FormData();
		form.set("file", new File([WAV], "a.wav", { type: "audio/wav" }));
		const response = await send(`${base}/@cf/openai/whisper/audio/transcriptions`, form);
		expect([response.status, await response.json()]).toMatchObject([200, { text: expect.any(String) }]);
	});

	it("names the routes it has", async () => {
		const { send } = gateway();
		const response = await send(`${base}/gpt-5.6-sol/extensions/chat`, { messages });
		const { error } = (await response.json()) as { error: { message: string } };
		expect([response.status, error.message]).toEqual([
			400,
			"No route for that URI: after the deployment, Azure's routes here are audio/transcriptions, images/generations, audio/translations, chat/completions, audio/speech, images/edits, completions, embeddings. Others are below /v1",
		]);
	});

	it("refuses a path without a deployment, and a model that nothing serves", async () => {
		const { send } = gateway();
		expect((await send(`${base}/chat/completions`, { messages })).status).toBe(400);
		const unknown = await send(`${base}/llama-9/chat/completions`, { messages });
		expect([unknown.status, await unknown.json()]).toMatchObject([
			400,
			{ error: { code: "model_not_found" } },
		]);
	});
});
