/** The event of a batch in plain workerd: a webhook that fails, and a process that is killed between two deliveries. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import { expect, it } from "vitest";
import { MODEL } from "../../tools/soak/batches/client.ts";
import { LineEngine } from "../../tools/soak/batches/engine.ts";
import { settingsOf } from "../../tools/soak/batches/run.ts";
import { Gateway } from "../../tools/soak/gateway.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/** Deliveries that fail, before and after the kill. */
const FAILED = 2;

it("arrives although the webhook fails and the process is killed", async () => {
	const received: { headers: IncomingHttpHeaders; body: string }[] = [];
	const server = createServer((request, response) => {
		let body = "";
		request.on("data", (piece: Buffer) => {
			body += piece.toString();
		});
		request.on("end", () => {
			received.push({ headers: request.headers, body });
			response.writeHead(received.length > FAILED ? 204 : 500).end();
		});
	});
	await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
	const { port } = server.address() as AddressInfo;
	const engine = new LineEngine(1);
	const folder = mkdtempSync(join(tmpdir(), "ganglion-events-"));
	const settings = settingsOf(await engine.listen());
	const gateway = await Gateway.start(folder, {
		...settings,
		JOBS: {
			...(settings.JOBS as object),
			webhooks: { acme: { url: `http://127.0.0.1:${port}/events`, secret: "HOOK_SECRET" } },
		},
		AI_GATEWAY: { allow_private_addresses: true },
		HOOK_SECRET: SECRET,
	});
	try {
		const openai = new OpenAI({
			apiKey: Gateway.operator.replace("Bearer ", ""),
			baseURL: `${gateway.url}/client/v4/accounts/acme/ai/v1`,
		});
		const body = { model: MODEL, messages: [{ role: "user", content: "line 1" }] };
		const line = { custom_id: "one", method: "POST", url: "/v1/chat/completions", body };
		const file = await openai.files.create({
			purpose: "batch",
			file: await toFile(Buffer.from(JSON.stringify(line)), "lines.jsonl"),
		});
		const { id } = await openai.batches.create({
			...{ input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" },
		});
		const soon = { timeout: 60_000 };
		await expect.poll(() => received.length, soon).toBe(1);
		await gateway.kill();
		await expect.poll(() => received.length, soon).toBeGreaterThan(FAILED);
		for (const { headers, body: text } of received)
			expect(await openai.webhooks.unwrap(text, headers as Record<string, string>, SECRET)).toMatchObject({
				...{ id: `evt_${id}`, type: "batch.completed", data: { id } },
			});
		expect(new Set(received.map(({ headers }) => headers["webhook-id"]))).toEqual(new Set([`evt_${id}`]));
		expect(gateway.output()).not.toContain(SECRET.slice("whsec_".length));
	} finally {
		await gateway.stop();
		engine.close();
		server.closeAllConnections();
		server.close();
		rmSync(folder, { recursive: true, force: true });
	}
}, 240_000);
