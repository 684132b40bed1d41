/** Stored responses in plain workerd, which is killed and restarted with its state. */
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";
import { afterEach, describe, expect, it } from "vitest";
import { backupCommand } from "../../cli/commands/backup.ts";
import { Gateway } from "../../tools/soak/gateway.ts";

const MODEL = "gpt-5.6-sol";
const PATIENT = { timeout: 60_000 };

const gateways: Gateway[] = [];
const engines: Server[] = [];
const folders: string[] = [];
afterEach(async () => {
	await Promise.all(gateways.splice(0).map((gateway) => gateway.stop()));
	for (const engine of engines.splice(0)) {
		engine.closeAllConnections();
		engine.close();
	}
	for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFolder(): string {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-responses-"));
	folders.push(folder);
	return folder;
}

interface EngineCall {
	messages: { role: string; content: unknown }[];
	response: ServerResponse;
}

/** https://platform.openai.com/docs/api-reference/chat-streaming */
const chunk = (fields: object): string =>
	`data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_790_000_000, model: MODEL, ...fields })}\n\n`;
const delta = (content: string): string => chunk({ choices: [{ index: 0, delta: { content } }] });
const END = [
	chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
	chunk({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 } }),
	"data: [DONE]\n\n",
].join("");

function answer({ response }: EngineCall, isStream: boolean): void {
	if (isStream) {
		response.setHeader("content-type", "text/event-stream");
		response.end(delta("The ship ") + delta("leaves.") + END);
		return;
	}
	const message = { role: "assistant", content: "The ship leaves." };
	response.setHeader("content-type", "application/json").end(
		JSON.stringify({
			...{ id: "chatcmpl-1", object: "chat.completion", created: 1_790_000_000, model: MODEL },
			choices: [{ index: 0, message, finish_reason: "stop" }],
			usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 },
		}),
	);
}

/** A gateway with an engine. `onCall`: instead of a complete answer. */
async function start(
	onCall: (call: EngineCall, number: number) => boolean = () => false,
	settings: Record<string, unknown> = {},
) {
	const calls: EngineCall[] = [];
	const engine = createServer(async (request, response) => {
		const body = JSON.parse(Buffer.concat(await request.toArray()).toString("utf8"));
		const call: EngineCall = { messages: body.messages, response };
		calls.push(call);
		if (!onCall(call, calls.length)) answer(call, body.stream === true);
	});
	engines.push(engine);
	engine.listen(0, "127.0.0.1");
	await once(engine, "listening");
	const { port } = engine.address() as AddressInfo;
	const variables = {
		BACKENDS: { vllm: { kind: "openai", url: `http://127.0.0.1:${port}/v1` } },
		ROUTES: { "*": [{ backend: "vllm" }] },
		...settings,
	};
	const folder = newFolder();
	const gateway = await Gateway.start(folder, variables);
	gateways.push(gateway);
	const token = await gateway.createToken("acme");
	return { calls, client: clientOf(gateway, token), folder, gateway, token, variables };
}

const clientOf = (gateway: Gateway, token: string): OpenAI =>
	new OpenAI({
		baseURL: `${gateway.url}/client/v4/accounts/acme/ai/v1`,
		apiKey: token.replace("Bearer ", ""),
		maxRetries: 0,
	});

describe("a response in the background", () => {
	it.each([false, true])("goes on after a kill, and is paid once (stream: %s)", async (stream) => {
		// The first call gets a part of its answer.
		const { calls, client, gateway } = await start(({ response }, number) => {
			if (number > 1) return false;
			response.setHeader("content-type", "text/event-stream");
			if (stream) response.write(delta("The ship "));
			return true;
		});
		const fields = { model: MODEL, input: "When does the ship leave?", background: true } as const;
		let id = "";
		if (stream) {
			const events = await client.responses.create({ ...fields, stream });
			for await (const event of events) {
				if (event.type === "response.created") id = event.response.id;
				if (event.type === "response.output_text.delta") break;
			}
		} else id = (await client.responses.create(fields)).id;
		await expect.poll(() => calls.length, PATIENT).toBe(1);
		await gateway.kill();
		await expect.poll(async () => (await client.responses.retrieve(id)).status, PATIENT).toBe("completed");
		expect((await client.responses.retrieve(id)).output_text).toBe("The ship leaves.");
		expect(calls).toHaveLength(2);
		await expect
			.poll(async () => (await gateway.rows("acme")).map(({ outcome }) => outcome).sort(), PATIENT)
			.toEqual(["failed", "ok"]);
		const rows = await gateway.rows("acme");
		expect(rows.filter(({ neurons, output_tokens }) => neurons > 0 || output_tokens > 0)).toMatchObject([
			{ outcome: "ok", input_tokens: 5, output_tokens: 7 },
		]);
		expect((await gateway.limitStatus("acme")).openRequests).toBe(0);
	});
});

describe("the queue of responses in the background", () => {
	it("answers each once although the process is killed between any two", async () => {
		const count = 6;
		let isHeld = false;
		const answered: unknown[] = [];
		// The engine answers one call, and holds the next ones until the process is killed.
		const { calls, client, gateway } = await start(
			({ messages }) => {
				if (isHeld) return true;
				isHeld = true;
				answered.push(messages[0]?.content);
				return false;
			},
			{ STORAGE: { account_concurrency: 1 } },
		);
		const inputs = Array.from({ length: count }, (_, index) => `Question ${index}`);
		const ids: string[] = [];
		isHeld = true;
		for (const input of inputs)
			ids.push((await client.responses.create({ model: MODEL, input, background: true })).id);
		const completed = async (): Promise<number> => {
			const responses = await Promise.all(ids.map((id) => client.responses.retrieve(id)));
			return responses.filter(({ status }) => status === "completed").length;
		};
		for (let done = 0; done < count; done++) {
			await gateway.kill();
			isHeld = false;
			await expect.poll(completed, PATIENT).toBe(done + 1);
		}
		// None is lost, and none is answered twice. Only those that a kill interrupted were sent again.
		expect([...answered].sort()).toEqual(inputs);
		expect(calls.length).toBeLessThanOrEqual(count + gateway.kills.length);
		const responses = await Promise.all(ids.map((id) => client.responses.retrieve(id)));
		expect(responses.map(({ output_text }) => output_text)).toEqual(inputs.map(() => "The ship leaves."));
	});
});

describe("a streamed response", () => {
	it.each([
		["response.created", false],
		["response.output_text.done", false],
		["response.completed", true],
	])("is there whole or not at all after a kill at %s", async (killedAt, isDurable) => {
		const { client, gateway } = await start();
		const events = await client.responses.create({ model: MODEL, input: "When?", stream: true });
		let id = "";
		for await (const event of events) {
			if (event.type === "response.created") id = event.response.id;
			if (event.type === killedAt) break;
		}
		await gateway.kill();
		const found = await client.responses.retrieve(id).catch((thrown) => thrown);
		if (found instanceof OpenAI.NotFoundError) {
			expect(isDurable).toBe(false);
			return;
		}
		// A caller who leaves cancels the response.
		expect(isDurable ? ["completed"] : ["completed", "cancelled"]).toContain(found.status);
		if (found.status === "completed") expect(found.output_text).toBe("The ship leaves.");
		const input = await client.responses.inputItems.list(id);
		expect(input.data).toMatchObject([{ type: "message", content: [{ text: "When?" }] }]);
	});

	/** Its engine writes until its call ends. */
	const endless = () =>
		start(({ response }) => {
			response.setHeader("content-type", "text/event-stream");
			const timer = setInterval(() => response.write(delta("The ship ")), 20);
			response.on("close", () => clearInterval(timer));
			return true;
		});

	it("is stored as cancelled if its caller leaves, over HTTP", async () => {
		const { calls, client } = await endless();
		const events = await client.responses.create({ model: MODEL, input: "When?", stream: true });
		let id = "";
		for await (const event of events) {
			if (event.type === "response.created") id = event.response.id;
			if (event.type === "response.output_text.delta") break;
		}
		if (calls[0]?.response.closed === false) await once(calls[0].response, "close");
		await expect.poll(async () => (await client.responses.retrieve(id)).status, PATIENT).toBe("cancelled");
	});

	it("is stored as cancelled if its caller closes the websocket", async () => {
		const { calls, client } = await endless();
		const socket = new ResponsesWS(client);
		const begun = new Promise<string>((resolve, reject) => {
			let id = "";
			socket.on("response.created", ({ response }) => (id = response.id));
			socket.once("response.output_text.delta", () => resolve(id));
			socket.once("error", reject);
		});
		socket.send({ type: "response.create", model: MODEL, input: "When?" });
		const id = await begun;
		socket.close();
		if (calls[0]?.response.closed === false) await once(calls[0].response, "close");
		await expect.poll(async () => (await client.responses.retrieve(id)).status, PATIENT).toBe("cancelled");
	});

	it("is continued after a kill", async () => {
		const { calls, client, gateway } = await start();
		const first = await client.responses.create({ model: MODEL, input: "When does the ship leave?" });
		await gateway.kill();
		const second = await client.responses.create({
			...{ model: MODEL, input: "Which ship?", previous_response_id: first.id },
		});
		expect(second.output_text).toBe("The ship leaves.");
		expect(calls.at(-1)?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
	});
});

it("a restored backup has the stored responses and conversations", async () => {
	const { client, folder, gateway, token, variables } = await start();
	const conversation = await client.conversations.create({ metadata: { topic: "ships" } });
	const { id } = await client.responses.create({
		model: MODEL,
		input: "When?",
		conversation: conversation.id,
	});
	const state = newFolder();
	symlinkSync(join(folder, "state"), join(state, "objects"));
	const copy = join(newFolder(), "copy");
	expect(await backupCommand({ state, to: copy })).toBe(0);
	await gateway.stop();
	const restored = newFolder();
	cpSync(join(copy, "objects"), join(restored, "state"), { recursive: true });
	const second = await Gateway.start(restored, variables);
	gateways.push(second);
	const again = clientOf(second, token);
	expect((await again.responses.retrieve(id)).output_text).toBe("The ship leaves.");
	const items = await again.conversations.items.list(conversation.id);
	expect(items.data).toHaveLength(2);
	const next = await again.responses.create({ model: MODEL, input: "Where?", previous_response_id: id });
	expect(next.output_text).toBe("The ship leaves.");
});

it("OpenAI's websocket client continues a response that is not stored, and a stored one", async () => {
	const { calls, client } = await start();
	const socket = new ResponsesWS(client);
	const completed = (): Promise<string> =>
		new Promise((resolve, reject) => {
			socket.once("response.completed", ({ response }) => resolve(response.id));
			socket.once("error", reject);
		});
	for (const store of [false, true]) {
		let previous: string | undefined;
		for (const input of ["When?", "Where?"]) {
			const end = completed();
			const continued = previous === undefined ? {} : { previous_response_id: previous };
			socket.send({ type: "response.create", model: MODEL, input, store, ...continued });
			previous = await end;
		}
	}
	socket.close();
	expect(calls.map(({ messages }) => messages.length)).toEqual([1, 3, 1, 3]);
});
