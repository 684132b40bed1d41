/** The file of another account as the input of a batch, in all APIs: it does not exist, and nothing of it reaches an engine. */
import { expect, it } from "vitest";
import { PostponedWork } from "../../../src/storage/queue/work.ts";
import { batchWork } from "../../../src/surfaces/jobs/batch-work.ts";
import { newAccount } from "../../accounts/fixtures.ts";
import { completion, ENGINE_VARS, upstream } from "../../gateway.ts";
import { ADMIN, closedGateway, json, V4 } from "../../http/access.ts";
import { chat, jsonLines, MODEL } from "./batch-runs.ts";

const SECRET = "the plan of the other account";

interface Failure {
	error: { message: string };
}

async function world() {
	const sent: string[] = [];
	const engine = upstream(async (request) => {
		sent.push(await request.text());
		return Response.json(completion("Hello"));
	});
	const gateway = closedGateway({ vars: ENGINE_VARS, fetch: engine.fetch });
	const { account, send, services } = gateway;
	const keys: string[] = [];
	services.storage = {
		...services.storage,
		queue: Object.assign(Object.create(services.storage.queue), {
			enqueue: async ({ key }: { key: string }) => keys.push(key),
			status: async () => undefined,
		}),
	};
	const form = new FormData();
	form.set("purpose", "batch");
	form.set("file", new File([jsonLines([chat(SECRET)])], "requests.jsonl"));
	const uploaded = await send(`${V4}/accounts/${newAccount()}/ai/v1/files`, ADMIN, {
		method: "POST",
		body: form,
	});
	const { id } = await uploaded.json<{ id: string }>();
	expect(id).toMatch(/^file-/);
	return {
		id,
		sent,
		send,
		token: await gateway.createToken(["Workers AI Write"]),
		/** Runs the latest batch to its end. */
		async runAll(): Promise<void> {
			for (let fence = 1; ; fence++)
				try {
					return await batchWork(services).run({
						...{ account, key: keys.at(-1) ?? "", kind: "batches", payload: undefined, attempt: 1, fence },
						...{ signal: new AbortController().signal, progress: () => {} },
					});
				} catch (thrown) {
					if (!(thrown instanceof PostponedWork)) throw thrown;
					await scheduler.wait(Math.min(thrown.milliseconds, 50));
				}
		},
	};
}

it("OpenAI: is unknown, with the answer of an id that no account has", async () => {
	const { id, send, token } = await world();
	const create = async (input_file_id: string) => {
		const fields = { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" };
		const response = await send("/ai/v1/batches", token, json("POST", fields));
		const { error } = await response.json<Failure>();
		return [response.status, error.message.replace(input_file_id, "ID").replace(/[0-9a-f-]{36}/, "REQUEST")];
	};
	const unknown = id.replace(/\w{8}$/, "00000000");
	expect(await create(id)).toEqual(await create(unknown));
	expect((await create(id))[0]).toBe(404);
});

it("Gemini: is no input, and a request that names it is answered without it", async () => {
	const { id, runAll, send, sent, token } = await world();
	const path = `/ai/v1beta/models/${MODEL}:batchGenerateContent`;
	const create = (inputConfig: object) => send(path, token, json("POST", { batch: { inputConfig } }));
	expect((await create({ fileName: `files/${id}` })).status).toBe(400);
	const parts = [{ text: "Summarize" }, { fileData: { mimeType: "text/plain", fileUri: `files/${id}` } }];
	expect((await create({ requests: { requests: [{ request: { contents: [{ parts }] } }] } })).status).toBe(
		200,
	);
	await runAll();
	expect(sent.join()).not.toContain(SECRET);
});

it("Anthropic: a request that names it is answered without it", async () => {
	const { id, runAll, send, sent, token } = await world();
	const content = [
		{ type: "text", text: "Summarize" },
		{ type: "document", source: { type: "file", file_id: id } },
	];
	const params = { model: MODEL, max_tokens: 10, messages: [{ role: "user", content }] };
	const response = await send("/ai/v1/messages/batches", token, {
		...json("POST", { requests: [{ custom_id: "one", params }] }),
		headers: { "content-type": "application/json", "anthropic-version": "2023-06-01" },
	});
	expect(response.status).toBe(200);
	await runAll();
	expect(sent.join()).not.toContain(SECRET);
});
