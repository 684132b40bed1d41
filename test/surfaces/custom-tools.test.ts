/** OpenAI's custom tools, whose input is a text, by hosts that have only functions: their calls arrive as calls of the custom tool. */
import { describe, expect, it } from "vitest";
import { testGateway } from "../gateway.ts";
import { ANTHROPIC_KEY, anthropic } from "../hosts/anthropic/index.ts";
import { ENGINE_MODEL, engine } from "../hosts/engine.ts";
import { hostFetch, recordBodies } from "../hosts/fetch.ts";
import { googleChat } from "../hosts/google/chat.ts";
import { GOOGLE_KEY, google } from "../hosts/google/index.ts";
import { OPENAI_KEY, openai } from "../hosts/openai/index.ts";
import type { Host, Script } from "../hosts/script.ts";

const PATCH = '*** Begin Patch\n*** Update File: a "b".ts\n+ø\n*** End Patch';
const GRAMMAR = { syntax: "lark", definition: 'start: "*** Begin Patch"' };
const VIEW = { name: "view", parameters: { type: "object", properties: { path: { type: "string" } } } };

/** Two calls, then an answer. */
const SCRIPT: Script = ({ turns }) =>
	turns.some(({ results }) => results.length > 0)
		? { kind: "text", pieces: ["Patched."] }
		: {
				kind: "tools",
				calls: [
					{ name: "apply_patch", input: { input: PATCH } },
					{ name: "view", input: { path: "a.ts" } },
				],
			};

const HOSTS: Record<string, { host: Host; backend: object; model: string; callers?: "chat" }> = {
	"a self-hosted engine": {
		host: engine,
		backend: { kind: "openai", url: "http://engine/v1" },
		model: ENGINE_MODEL,
	},
	Anthropic: {
		host: anthropic,
		backend: { kind: "anthropic", key: "ANTHROPIC_KEY" },
		model: "claude-opus-5-5",
	},
	Gemini: { host: google, backend: { kind: "gemini", key: "GOOGLE_KEY" }, model: "gemini-3.8-flash" },
	"Google's route for OpenAI's clients": {
		host: googleChat,
		backend: {
			kind: "openai",
			url: "https://generativelanguage.googleapis.com/v1beta/openai",
			key: "GOOGLE_KEY",
		},
		model: "gemini-3.8-flash",
	},
	// Callers of Responses reach its Responses API with the custom tool itself.
	"OpenAI's Responses": {
		host: openai,
		backend: { kind: "openai", url: "https://api.openai.com/v1", key: "OPENAI_KEY" },
		model: "gpt-6-astra",
		callers: "chat",
	},
	"OpenAI's chat completions": {
		host: openai,
		backend: { kind: "openai", url: "https://api.openai.com/v1", key: "OPENAI_KEY" },
		model: "gpt-5-mini",
		callers: "chat",
	},
};

function gateway({ host, backend, model }: (typeof HOSTS)[string]) {
	const { fetch, bodies } = recordBodies(hostFetch(host, SCRIPT));
	const { post } = testGateway({
		vars: {
			BACKENDS: { host: backend },
			ROUTES: { [model]: [{ backend: "host", model }] },
			MODELS: { [model]: { task: "Text Generation", capabilities: ["function_calling"] } },
			OPENAI_KEY,
			GOOGLE_KEY,
			ANTHROPIC_KEY,
		},
		fetch,
	});
	return { post, bodies };
}

const eventsIn = (text: string) =>
	Array.from(text.matchAll(/^data: (\{.*)$/gm), ([, json = ""]) => JSON.parse(json));

/** As a client joins them: by index, texts appended. */
function joinedCalls(text: string) {
	const calls: Record<string, { id?: string; type?: string; name: string; text: string }> = {};
	let finish = "";
	for (const { choices } of eventsIn(text)) {
		const [choice] = choices;
		finish = choice?.finish_reason ?? finish;
		for (const { index, id, type, custom, function: called } of choice?.delta.tool_calls ?? []) {
			calls[index] ??= { name: "", text: "" };
			const known = calls[index];
			if (id) known.id = id;
			if (type) known.type = type;
			known.name += custom?.name ?? called?.name ?? "";
			known.text += custom?.input ?? called?.arguments ?? "";
		}
	}
	return { calls: Object.values(calls), finish };
}

describe.each(Object.entries(HOSTS))("by %s", (_, host) => {
	/** What the host has received: one text as the input of a function, described by the grammar. */
	const expectConverted = (body = "") => {
		expect(body).not.toMatch(/"type":"custom"/);
		expect(body).toContain(JSON.stringify("*** Begin Patch").slice(1, -1));
		expect(body).toContain("Lark grammar");
	};

	it.each([false, true])("a chat calls its custom tool, stream: %s", async (stream) => {
		const { post, bodies } = gateway(host);
		const custom = {
			name: "apply_patch",
			description: "Edits",
			format: { type: "grammar", grammar: GRAMMAR },
		};
		const messages: object[] = [{ role: "user", content: "Patch a.ts" }];
		const request = {
			model: host.model,
			stream,
			tools: [
				{ type: "custom", custom },
				{ type: "function", function: VIEW },
			],
		};
		const first = await post("/v1/chat/completions", { ...request, messages });
		const text = await first.text();
		expect([first.status, first.headers.get("x-ganglion-dropped"), text]).toEqual([200, null, text]);
		expectConverted(bodies[0]);
		let calls: { id?: string }[];
		if (stream) {
			const joined = joinedCalls(text);
			expect(joined).toEqual({
				calls: [
					{ id: expect.any(String), type: "custom", name: "apply_patch", text: PATCH },
					{ id: expect.any(String), type: "function", name: "view", text: expect.any(String) },
				],
				finish: "tool_calls",
			});
			expect(JSON.parse(joined.calls[1]?.text ?? "")).toEqual({ path: "a.ts" });
			calls = joined.calls.map(({ id, type, name, text: sent }) =>
				type === "custom"
					? { id, type, custom: { name, input: sent } }
					: { id, type, function: { name, arguments: sent } },
			);
		} else {
			const [{ message, finish_reason }] = JSON.parse(text).choices;
			expect(finish_reason).toBe("tool_calls");
			calls = message.tool_calls;
			expect(calls).toMatchObject([
				{ id: expect.any(String), type: "custom", custom: { name: "apply_patch", input: PATCH } },
				{ id: expect.any(String), type: "function", function: { name: "view" } },
			]);
			expect(calls[0]).not.toHaveProperty("function");
		}
		messages.push({ role: "assistant", content: null, tool_calls: calls });
		for (const { id } of calls) messages.push({ role: "tool", tool_call_id: id, content: "Done" });
		const second = await post("/v1/chat/completions", { ...request, messages });
		const answer = await second.text();
		expect([second.status, answer]).toEqual([200, answer]);
		expect(answer).toContain("Patched.");
		expect(bodies[1]).toContain("Update File: a");
	});

	if (host.callers === "chat") return;

	it.each([false, true])("a client of Responses calls its custom tool, stream: %s", async (stream) => {
		const { post, bodies } = gateway(host);
		const input: object[] = [{ role: "user", content: "Patch a.ts" }];
		const request = {
			model: host.model,
			stream,
			store: false,
			tools: [
				{
					type: "custom",
					name: "apply_patch",
					description: "Edits",
					format: { type: "grammar", ...GRAMMAR },
				},
				{ type: "function", ...VIEW },
			],
		};
		const first = await post("/v1/responses", { ...request, input });
		const text = await first.text();
		expect([first.status, first.headers.get("x-ganglion-dropped"), text]).toEqual([200, null, text]);
		expectConverted(bodies[0]);
		const events = stream ? eventsIn(text) : [];
		const response = stream ? events.at(-1)?.response : JSON.parse(text);
		const calls: { type: string; call_id: string; input?: string }[] = response.output.filter(
			({ type }: { type: string }) => type.endsWith("_call"),
		);
		expect(calls).toMatchObject([
			{ type: "custom_tool_call", name: "apply_patch", input: PATCH },
			{ type: "function_call", name: "view" },
		]);
		if (stream) {
			const [{ item_id }] = events.filter(({ type }) => type === "response.custom_tool_call_input.done");
			const deltas = events.filter(({ type }) => type === "response.custom_tool_call_input.delta");
			expect(deltas.map(({ delta }) => delta).join("")).toBe(PATCH);
			expect(deltas.every((event) => event.item_id === item_id)).toBe(true);
		}
		input.push(...response.output);
		for (const { type, call_id } of calls) input.push({ type: `${type}_output`, call_id, output: "Done" });
		const second = await post("/v1/responses", { ...request, input });
		const answer = await second.text();
		expect([second.status, answer]).toEqual([200, answer]);
		expect(answer).toContain("Patched.");
		expect(bodies[1]).toContain("Update File: a");
	});
});
