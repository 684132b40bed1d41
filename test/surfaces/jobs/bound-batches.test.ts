/** Batches of a token that binds a gateway: a creation that names another one is refused like a live request. */
import { expect, it } from "vitest";
import { closedGateway, json } from "../../http/access.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const MESSAGES = [{ role: "user", content: "Hello" }];

it("each API refuses another gateway with the sentence of a live request", async () => {
	const { createToken, send } = closedGateway({ vars: { DEFAULT_BACKEND: "simulator" } });
	const token = await createToken(["Workers AI Run"], { gateway: { id: "prod", mode: "required" } });
	const form = new FormData();
	form.set("purpose", "batch");
	form.set("file", new File(["{}"], "requests.jsonl"));
	const uploaded = await send("/ai/v1/files", token, { method: "POST", body: form });
	const { id } = await uploaded.json<{ id: string }>();
	const post = async (path: string, body: object): Promise<[number, string]> => {
		const { headers, ...request } = json("POST", body);
		const response = await send(path, token, {
			...request,
			headers: { ...(headers as Record<string, string>), "cf-aig-gateway-id": "other" },
		});
		return [response.status, await response.text()];
	};
	const [status, live] = await post("/ai/v1/chat/completions", { model: LLAMA, messages: MESSAGES });
	const { message } = (JSON.parse(live) as { error: { message: string } }).error;
	expect([status, message]).toEqual([403, expect.stringContaining("prod")]);
	const params = { model: LLAMA, max_tokens: 8, messages: MESSAGES };
	const requests = [{ request: { contents: [{ parts: [{ text: "Hello" }] }] } }];
	for (const [path, body] of [
		["/ai/v1/batches", { input_file_id: id, endpoint: "/v1/chat/completions", completion_window: "24h" }],
		["/ai/v1/messages/batches", { requests: [{ custom_id: "one", params }] }],
		[
			`/ai/v1beta/models/${LLAMA}:batchGenerateContent`,
			{ batch: { inputConfig: { requests: { requests } } } },
		],
		[`/ai/run/${LLAMA}?queueRequest=true`, { requests: [{ prompt: "Hello" }] }],
	] as const) {
		const [refused, text] = await post(path, body);
		expect([path, refused]).toEqual([path, 403]);
		const { error, errors } = JSON.parse(text) as { error?: unknown; errors?: unknown[] };
		expect(error ?? errors?.[0]).toMatchObject({ message });
	}
});
