/** Shadows in plain workerd: a caller who leaves, a shadow that hangs, and a process that is killed. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Gateway } from "../../tools/soak/gateway.ts";

const ACCOUNT = "acme";
const USAGE = { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 };
/** 1,000 tokens of 0.1 neurons, 500 of 0.2. */
const PRICE = 200;
const WAIT = { timeout: 30_000 };

interface Asked {
	model: string;
	stream?: boolean;
	messages: { content: string }[];
}

it("asks the shadow after the caller has left, and a kill costs the account nothing", async () => {
	const asked: string[] = [];
	const hung: ServerResponse[] = [];
	const server = createServer((request, response) => {
		let body = "";
		request.on("data", (piece: Buffer) => {
			body += piece.toString();
		});
		request.on("end", () => {
			const { model, stream, messages } = JSON.parse(body) as Asked;
			const question = messages.at(-1)?.content ?? "";
			asked.push(`${model} ${question}`);
			if (stream) {
				response.writeHead(200, { "content-type": "text/event-stream" });
				const choices = [{ index: 0, delta: { role: "assistant", content: "The beginning" } }];
				const event = `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", choices })}\n\n`;
				// Plain workerd notices that a caller has left when it writes to it.
				const timer = setInterval(() => response.write(event), 50);
				response.on("close", () => clearInterval(timer));
				return;
			}
			if (model === "new" && question.startsWith("hang")) {
				hung.push(response);
				return;
			}
			const message = { role: "assistant", content: `${model}: ${question}` };
			const choices = [{ index: 0, message, finish_reason: "stop" }];
			response.writeHead(200, { "content-type": "application/json" });
			response.end(JSON.stringify({ id: "1", object: "chat.completion", choices, usage: USAGE }));
		});
	});
	await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
	const { port } = server.address() as AddressInfo;
	const folder = mkdtempSync(join(tmpdir(), "ganglion-shadows-"));
	const prices = [
		{ unit: "per M input tokens", neurons: 100_000 },
		{ unit: "per M output tokens", neurons: 200_000 },
	];
	const gateway = await Gateway.start(folder, {
		LEDGER: "exact",
		BACKENDS: { engine: { kind: "openai", url: `http://127.0.0.1:${port}/v1` } },
		ROUTES: {
			old: {
				targets: [{ backend: "engine" }],
				shadow: { name: "candidate", backend: "engine", model: "new", share: 1 },
			},
		},
		MODELS: { old: { task: "Text Generation", prices } },
		LIMITS: { requests_per_minute: "none" },
	});
	const send = (content: string, stream = false, signal?: AbortSignal): Promise<Response> =>
		fetch(`${gateway.url}/client/v4/accounts/${ACCOUNT}/ai/v1/chat/completions`, {
			method: "POST",
			headers: {
				...{ "content-type": "application/json", authorization: Gateway.operator },
				"cf-aig-gateway-id": "default",
			},
			body: JSON.stringify({ model: "old", stream, messages: [{ role: "user", content }] }),
			...(signal && { signal }),
		});
	const results = async (): Promise<{ after?: { text: string }; before: { text: string } }[]> => {
		const path = `/client/v4/accounts/${ACCOUNT}/ai-gateway/gateways/default/shadows/candidate/results`;
		const response = await fetch(gateway.url + path, { headers: { authorization: Gateway.operator } });
		return ((await response.json()) as { result: never }).result;
	};
	const costs = async (account: string): Promise<number[]> =>
		(await gateway.rows(account)).filter(({ outcome }) => outcome === "ok").map(({ neurons }) => neurons);
	try {
		// The caller leaves in the middle of the answer.
		const leaving = new AbortController();
		const left = await send("left", true, leaving.signal);
		await left.body?.getReader().read();
		expect(asked).toEqual(["old left"]);
		leaving.abort();
		await expect.poll(() => asked, WAIT).toContain("new left");
		await expect
			.poll(async () => (await results()).map(({ after }) => after?.text), WAIT)
			.toEqual(["new: left"]);
		expect((await results())[0]?.before.text).toMatch(/^The beginning/);

		// The shadow hangs: callers have their answers, and the process is killed.
		for (const content of ["hang one", "hang two"]) {
			const response = await send(content);
			expect([response.status, await response.text()]).toEqual([
				200,
				expect.stringContaining(`old: ${content}`),
			]);
		}
		await expect.poll(() => hung.length, WAIT).toBe(2);
		await expect.poll(() => costs(ACCOUNT), WAIT).toEqual([PRICE, PRICE]);
		await gateway.kill();
		const response = await send("after the kill");
		expect(await response.text()).toContain("old: after the kill");
		await expect
			.poll(async () => (await results()).map(({ after }) => after?.text), WAIT)
			.toContain("new: after the kill");
		expect(asked.filter((question) => question.startsWith("new hang"))).toHaveLength(2);
		await expect.poll(() => costs(ACCOUNT), WAIT).toEqual([PRICE, PRICE, PRICE]);
		await expect.poll(() => costs("operator"), WAIT).toEqual([PRICE, PRICE]);
	} finally {
		await gateway.stop();
		server.closeAllConnections();
		server.close();
		rmSync(folder, { recursive: true, force: true });
	}
}, 240_000);
