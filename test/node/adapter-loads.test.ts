/**
 * Requests that wait for one load of an adapter, in plain workerd: it ends a request as hung that waits for another one and has nothing
 * under way.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { Gateway } from "../../tools/soak/gateway.ts";
import { loraConfig, loraWeights } from "../jobs/adapters/adapter-files.ts";

const MODEL = "@cf/mistral/mistral-7b-instruct-v0.2-lora";
const AI = "/client/v4/accounts/acme/ai";
const LOAD_MS = 400;
const REQUESTS = 12;
const ROUNDS = 6;

it("all get an answer, and none stays open", async () => {
	const loaded = new Set<string>();
	const engine = createServer(async (request, response) => {
		const body = (await json(request)) as { lora_name: string; model: string };
		response.setHeader("content-type", "application/json");
		if (request.url?.endsWith("/load_lora_adapter")) {
			await wait(LOAD_MS);
			loaded.add(body.lora_name);
			response.end("{}");
		} else if (!loaded.has(body.model)) {
			const error = { message: `The model ${body.model} does not exist.`, code: 404 };
			response.writeHead(404).end(JSON.stringify({ error }));
		} else {
			const message = { role: "assistant", content: "Hello" };
			const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
			response.end(JSON.stringify({ choices: [{ index: 0, finish_reason: "stop", message }], usage }));
		}
	});
	await once(engine.listen(0, "127.0.0.1"), "listening");
	const folder = mkdtempSync(join(tmpdir(), "ganglion-loads-"));
	const url = `http://127.0.0.1:${(engine.address() as AddressInfo).port}/v1`;
	const gateway = await Gateway.start(folder, {
		BACKENDS: { gpus: { kind: "openai", url, adapters: { engine: "vllm", seen_as: "/adapters" } } },
		ROUTES: { [MODEL]: { targets: [{ backend: "gpus", model: "mistral" }] } },
		LIMITS: { requests_per_minute: "none" },
	});
	const post = (path: string, body: object): Promise<Response> =>
		fetch(gateway.url + AI + path, {
			method: "POST",
			headers: { authorization: Gateway.operator },
			body: body instanceof FormData ? body : JSON.stringify(body),
		});
	try {
		expect((await post("/finetunes", { model: MODEL, name: "support" })).status).toBe(200);
		for (const [name, content] of [
			["adapter_config.json", loraConfig()],
			["adapter_model.safetensors", loraWeights()],
		] as const) {
			const form = new FormData();
			form.set("file_name", name);
			form.set("file", new Blob([content]));
			expect((await post("/finetunes/support/finetune-assets", form)).status).toBe(200);
		}
		const statuses: number[] = [];
		for (let round = 0; round < ROUNDS; round++) {
			// The engine has started anew.
			loaded.clear();
			const answers = Array.from({ length: REQUESTS }, async () => {
				const answer = await post(`/run/${MODEL}`, { prompt: "Hello", lora: "support" });
				await answer.text();
				return answer.status;
			});
			statuses.push(...(await Promise.all(answers)));
		}
		expect(statuses).toEqual(Array(ROUNDS * REQUESTS).fill(200));
		expect(gateway.output()).not.toContain("had hung");
		await expect
			.poll(async () => (await gateway.limitStatus("acme")).openRequests, { timeout: 10_000 })
			.toBe(0);
	} finally {
		await gateway.stop();
		engine.closeAllConnections();
		engine.close();
		rmSync(folder, { recursive: true, force: true });
	}
}, 60_000);
