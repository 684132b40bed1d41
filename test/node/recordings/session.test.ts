/** Recordings of real bindings in a session of the runtime: what a call gave is what its recording gives, without the engine. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import type { Miniflare } from "miniflare";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { bundled, startSession } from "../plugin/session.ts";

const PLUGIN = resolve("dist/miniflare/index.js");
const KEY = "sk-of-the-engine-0123456789abcdef";

/**
 * `GET` uses all members of the binding. `POST {binding, test?, member, parameters}` calls a method of a binding, and returns the result or
 * the error in JSON.
 */
const SCRIPT = bundled(`
import { members } from "./members.ts";
import { probe } from "./probe.ts";
const shown = async (value) => {
	if (value instanceof Response)
		return { status: value.status, type: value.headers.get("content-type"), neurons: value.headers.get("cf-ai-neurons"), text: await value.text() };
	if (value instanceof ReadableStream) return { stream: await new Response(value).text().catch((error) => String(error)) };
	return value;
};
const withStream = (value) => JSON.parse(JSON.stringify(value ?? null), (key, field) =>
	key === "body" && typeof field === "string" ? new Response(field).body : field);
export default {
	async fetch(request, env) {
		if (request.method === "GET") return Response.json([await members(env.AI), await probe(env.AI)]);
		const { binding, gateway, member, parameters, test } = await request.json();
		if (test) await env["GANGLION_RECORDINGS_" + binding].begin(test.path, test.name);
		const target = gateway ? env[binding].gateway(gateway, { beta: true }) : env[binding];
		try {
			return Response.json({ value: await shown(await target[member](...withStream(parameters))) });
		} catch ({ name, message }) {
			return Response.json({ thrown: { name, message } });
		}
	},
};`);

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const chunk = (content: string) =>
	`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;

/** An engine that numbers its answers. */
let answers = 0;
const engine: Server = createServer(async (request, response) => {
	let text = "";
	for await (const part of request) text += part;
	const { stream } = JSON.parse(text);
	answers++;
	if (stream) {
		response.writeHead(200, { "content-type": "text/event-stream" });
		response.write(chunk(`streamed ${answers}`));
		return response.end("data: [DONE]\n\n");
	}
	response.setHeader("content-type", "application/json");
	const message = { role: "assistant", content: `answer ${answers}` };
	response.end(
		JSON.stringify({
			choices: [{ index: 0, message, finish_reason: "stop" }],
			usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
		}),
	);
});

let folder: string;
let open: Miniflare | undefined;
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-recordings-"));
	answers = 0;
});
beforeAll(async () => {
	await new Promise<void>((done) => engine.listen(0, "127.0.0.1", done));
});
afterEach(async () => {
	await open?.dispose();
	open = undefined;
	vi.unstubAllEnvs();
	rmSync(folder, { recursive: true, force: true });
});
afterAll(() => {
	engine.close();
});

interface BindingCall {
	binding?: string;
	gateway?: string;
	member?: string;
	parameters: unknown[];
	test?: { path: string; name: string };
}

/** A session with recordings in `folder`, and a function that calls its bindings. */
async function session(mode: string): Promise<(call?: BindingCall) => Promise<unknown>> {
	await open?.dispose();
	vi.stubEnv("GANGLION_RECORDINGS", mode);
	const { port } = engine.address() as AddressInfo;
	const options = {
		BACKENDS: { engine: { kind: "openai", url: `http://127.0.0.1:${port}`, key: "ENGINE_KEY" } },
		ROUTES: { [LLAMA]: [{ backend: "engine" }], "acme-chat": [{ backend: "engine" }] },
		MODELS: { "acme-embed": { task: "Text Embeddings" } },
		ALIASES: { chat: LLAMA },
		recordings: folder,
	};
	const vars: Record<string, string> = mode === "replay" ? {} : { ENGINE_KEY: KEY };
	const miniflare = startSession(PLUGIN, {
		app: { bindings: { AI: options }, services: { SERVICE: options }, vars, script: SCRIPT },
	});
	open = miniflare;
	return async (call) => {
		if (!call) return (await miniflare.dispatchFetch("http://app")).json();
		const body = JSON.stringify({ binding: "AI", member: "run", ...call });
		const response = await miniflare.dispatchFetch("http://app", { method: "POST", body });
		return response.json();
	};
}

/** Websockets are not recorded, and `untouched` is the id of the request before, which is a websocket. */
const withoutSockets = (value: unknown): unknown =>
	JSON.parse(
		JSON.stringify(value, (name, field) => (name === "socket" || name === "untouched" ? undefined : field)),
	);

describe("recordings of a session", () => {
	const chat: BindingCall = { parameters: [LLAMA, { prompt: "Hello" }] };
	const calls: Record<string, BindingCall> = {
		"an answer": chat,
		"a stream": { parameters: [LLAMA, { prompt: "Hello", stream: true }] },
		"a response": { parameters: [LLAMA, { prompt: "Hello, response" }, { returnRawResponse: true }] },
		"a gateway": {
			gateway: "default",
			parameters: [
				{
					provider: "workers-ai",
					endpoint: LLAMA,
					headers: { authorization: "Bearer secret-of-the-caller" },
					query: { prompt: "Hello, gateway" },
				},
			],
		},
		"a service binding": { binding: "SERVICE", parameters: [LLAMA, { prompt: "Hello, service" }] },
		"a stream of a service binding": {
			binding: "SERVICE",
			parameters: [LLAMA, { prompt: "Hello, service", stream: true }],
		},
		"a refused input of a service binding": { binding: "SERVICE", parameters: [LLAMA, { prompt: 1 }] },
	};

	it("answer every kind of call again, without the engine and its key", async () => {
		const recording = await session("once");
		const recorded: Record<string, unknown> = {};
		for (const [name, call] of Object.entries(calls)) recorded[name] = await recording(call);
		expect(recorded).toMatchObject({
			"an answer": { value: { response: "answer 1" } },
			"a stream": { value: { stream: expect.stringContaining("streamed 2") } },
			"a response": { value: { status: 200, type: "application/json" } },
			"a gateway": { value: { status: 200 } },
			"a service binding": { value: { response: expect.stringMatching(/^answer \d$/) } },
			"a refused input of a service binding": { thrown: { name: "AiError" } },
		});
		const members = await recording();
		const engineCalls = answers;
		const replaying = await session("replay");
		const replayed: Record<string, unknown> = {};
		for (const [name, call] of Object.entries(calls)) replayed[name] = await replaying(call);
		expect(replayed).toEqual(recorded);
		expect(withoutSockets(await replaying())).toEqual(withoutSockets(members));
		const named = (listed: unknown) =>
			(listed as { value: { name: string }[] }).value.map(({ name }) => name);
		const models: BindingCall = { member: "models", parameters: [{ search: "acme" }] };
		expect(named(await replaying(models)).sort()).toEqual(["acme-chat", "acme-embed"]);
		expect(answers).toBe(engineCalls);
		expect(readdirSync(folder).sort()).toEqual(["AI", "SERVICE"]);
		const text = readFileSync(join(folder, "AI/app.json"), "utf8");
		expect(text).not.toContain(KEY);
		expect(text).not.toContain("secret-of-the-caller");
	});

	it("are in a file for each file of tests, and refuse a call that they do not have", async () => {
		const test = { path: resolve("app/test/ask.test.ts"), name: "asks > once" };
		answers = 0;
		const recording = await session("once");
		await recording(chat);
		await recording({ ...chat, test });
		const file = JSON.parse(readFileSync(join(folder, "AI/app/test/ask.test.ts.json"), "utf8"));
		expect(file.recordings.map(({ test }: { test: string }) => test)).toEqual(["asks > once"]);
		const replaying = await session("replay");
		expect(await replaying(chat)).toMatchObject({ value: { response: "answer 1" } });
		// A file that is changed is read again.
		const app = join(folder, "AI/app.json");
		writeFileSync(app, readFileSync(app, "utf8").replace("answer 1", "changed by a person"));
		expect(await replaying(chat)).toMatchObject({ value: { response: "changed by a person" } });
		expect(await replaying({ ...chat, test })).toMatchObject({ value: { response: "answer 2" } });
		expect(await replaying({ parameters: [LLAMA, { prompt: "Hallo" }] })).toEqual({
			thrown: {
				name: "AiError",
				message: `7002: No recording answers run("${LLAMA}") of the test "asks > once": the nearest recording in ${relative("", folder)}/AI/app/test/ask.test.ts.json differs at prompt: recorded "Hello", sent "Hallo". Record it on your machine (GANGLION_RECORDINGS=once), and commit the file`,
			},
		});
	});
});
