import { describe, expect, it } from "vitest";
import type {
	ChatChunk,
	ChatInput,
	ChatMessage,
	ThinkingBlock,
} from "../../../src/tasks/text-generation/types.ts";
import thinking from "../../fixtures/anthropic/message-thinking.json?raw";
import text from "../../fixtures/anthropic/text.sse?raw";
import { eventsOf, outputOf } from "../ask.ts";
import { sealed } from "../plain-seals.ts";
import { drain, eventStream, json } from "../upstream.ts";
import { ask, bodyOf } from "./ask.ts";

const BREAK = { cache_control: { type: "ephemeral" } };
const said = (of: string, more: object = {}) => ({ type: "text", text: of, ...more });
const LOOK = { name: "look", description: "Looks", input_schema: { type: "object" }, ...BREAK };
const SEARCH = { type: "web_search_20250305", name: "web_search", max_uses: 2 };

/** A request as the dialect reads it. `hub`: what other engines would be asked. */
const asked = (
	body: Record<string, unknown>,
	hub: Partial<ChatInput> = {},
	complete = true,
): Partial<ChatInput> => {
	const messages: ChatMessage[] = [{ role: "user", content: "hi" }];
	const whole = { max_tokens: 100, messages: [{ role: "user", content: "hi" }], ...body };
	return {
		messages,
		max_tokens: 100,
		...hub,
		verbatim: {
			dialect: "anthropic",
			body: whole,
			messages: (hub.messages ?? messages).length,
			...(complete && { complete }),
		},
	};
};

const THOUGHT = { type: "thinking", thinking: "Hm.", signature: "sig" };

/** As {@link asked}, for a model of Workers AI. */
const converted = (body: Record<string, unknown>, hub?: Partial<ChatInput>) => asked(body, hub, false);

describe("a complete request", () => {
	it("is sent unchanged except for the model's name", async () => {
		const searched = {
			type: "server_tool_use",
			id: "srvtoolu_1",
			name: "web_search",
			input: { query: "a" },
		};
		const body = {
			model: "anthropic/claude-sonnet-4.5",
			system: [said("Be short.", BREAK)],
			messages: [
				{ role: "user", content: [said("hi", BREAK)] },
				{
					role: "assistant",
					content: [{ ...THOUGHT, signature: sealed({ block: THOUGHT }) }, searched],
				},
				{ role: "user", content: "and?" },
			],
			temperature: 0.4,
			top_p: null,
			tools: [LOOK, SEARCH],
			tool_choice: { type: "auto" },
			thinking: { type: "enabled", budget_tokens: 1024 },
			max_tokens: 2048,
			metadata: { user_id: "u" },
			service_tier: "standard_only",
			context_management: { edits: [] },
			betas: ["context-1m"],
			stream: null,
		};
		const { top_p: _, betas: _betas, ...sent } = body;
		expect(await bodyOf(asked(body, { max_tokens: 2048 }))).toEqual({
			...sent,
			model: "claude-sonnet-4-5-20250929",
			messages: [
				body.messages[0],
				{ role: "assistant", content: [THOUGHT, searched] },
				{ role: "user", content: [said("and?")] },
			],
			stream: false,
		});
	});

	it("adds its betas to those of the operator", async () => {
		const betasOf = async (betas: unknown, headers: Record<string, string> = {}) => {
			const { call, answer } = ask(asked({ betas }), undefined, { headers });
			await answer;
			return call.requests[0]?.headers.get("anthropic-beta");
		};
		expect(await betasOf(["context-1m-2025-08-07", "effort-2025-11-24"])).toBe(
			"context-1m-2025-08-07,effort-2025-11-24",
		);
		const operators = { "anthropic-beta": "files-api-2025-04-14, effort-2025-11-24" };
		expect(await betasOf(["effort-2025-11-24", "a-1"], operators)).toBe(
			"files-api-2025-04-14,effort-2025-11-24,a-1",
		);
		expect(await betasOf(["a\nx-api-key: b", 1, "b,c"])).toBeNull();
		expect(await betasOf("a-1")).toBeNull();
	});

	it("removes other models' thinking blocks and invalid characters of ids", async () => {
		const messages = [
			{ role: "user", content: "hi" },
			{
				role: "assistant",
				content: [
					{ type: "thinking", thinking: "Hm.", signature: "" },
					said(" "),
					{ type: "tool_use", id: "functions.look:0", name: "look", input: {} },
				],
			},
			{ role: "user", content: [{ type: "tool_result", tool_use_id: "functions.look:0", content: "a" }] },
			{ role: "assistant", content: [{ type: "thinking", thinking: "So.", signature: "" }] },
		];
		expect((await bodyOf(asked({ messages }))).messages).toEqual([
			{ role: "user", content: [said("hi")] },
			{
				role: "assistant",
				content: [{ type: "tool_use", id: "functions_look_0", name: "look", input: {} }],
			},
			{ role: "user", content: [{ type: "tool_result", tool_use_id: "functions_look_0", content: "a" }] },
		]);
	});

	it("is limited by the account, then without a thinking budget", async () => {
		const body = { max_tokens: 4000, thinking: { type: "enabled", budget_tokens: 2000 } };
		const sent = await bodyOf(asked(body, { max_tokens: 1500 }));
		expect(sent.max_tokens).toBe(1500);
		expect(sent).not.toHaveProperty("thinking");
	});

	it("has its own limit if the account sets none", async () => {
		const body = { max_tokens: 4000, thinking: { type: "enabled", budget_tokens: 2000 } };
		expect(await bodyOf(asked(body, { max_tokens: undefined }))).toMatchObject(body);
	});

	it("continues an answer of another target", async () => {
		const input = asked({ thinking: { type: "adaptive" } });
		const messages: ChatMessage[] = [...(input.messages ?? []), { role: "assistant", content: "The " }];
		const sent = await bodyOf({ ...input, messages });
		expect(sent.messages).toEqual([
			{ role: "user", content: [said("hi")] },
			{ role: "assistant", content: [said("The")] },
		]);
		expect(sent).not.toHaveProperty("thinking");
	});

	it("returns the reply unchanged except for the seals, complete and streamed", async () => {
		const whole = await outputOf(ask(asked({}), () => json(thinking)));
		const reply = JSON.parse(thinking);
		const [thought, redacted, ...texts] = reply.content;
		expect(whole.choices[0]?.message.verbatim).toEqual({
			...reply,
			content: [
				{ ...thought, signature: sealed({ block: thought }) },
				{ ...redacted, data: sealed({ block: redacted }) },
				...texts,
			],
		});

		const { text: sent } = await drain(
			await eventsOf(ask({ ...asked({}), stream: true }, () => eventStream(text))),
		);
		const chunks = Array.from(
			sent.matchAll(/^data: (\{.*)$/gm),
			([, data = ""]): ChatChunk => JSON.parse(data),
		);
		const events = Array.from(text.matchAll(/^data: (.*)$/gm), ([, data = ""]) => JSON.parse(data)).filter(
			({ type }) => type.startsWith("content_block") || type === "message_delta",
		);
		const passed = chunks.flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.verbatim ?? []));
		expect(passed.slice(0, -1)).toEqual(events.slice(0, -1));
		expect(passed.at(-1)).toMatchObject({
			...events.at(-1),
			usage: { input_tokens: 21, cache_read_input_tokens: 100, output_tokens: 9 },
		});
		// The start of a block comes with its first delta, its end at once.
		expect(
			chunks.map(({ choices }) => choices[0]?.delta.verbatim?.map((each) => each.type)).slice(0, 4),
		).toEqual([
			["content_block_start", "content_block_delta"],
			["content_block_delta"],
			["content_block_stop"],
			["message_delta"],
		]);
		// Who goes on from it knows what was said.
		expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe("Your name is Alice.");
	});
});

describe("a request for a model of Workers AI, routed to Claude", () => {
	it("keeps cache breakpoints and metadata, and converts the other fields", async () => {
		const body = {
			system: [said("Be short.", BREAK)],
			messages: [
				{ role: "system", content: "Mind the gap." },
				{ role: "user", content: [said("hi", BREAK)] },
			],
			temperature: 0.4,
			thinking: { type: "enabled", budget_tokens: 3000 },
			metadata: { user_id: "u", team: "t" },
			service_tier: "auto",
			tools: [LOOK],
			made_up: 1,
		};
		const tool = { type: "function", function: { name: "look", description: "Looks" } } as const;
		const hub = { temperature: 0.4, reasoning_effort: "low", max_tokens: 6144, tools: [tool] } as const;
		const sent = await bodyOf(converted(body, { ...hub, tools: [tool] }));
		expect(sent).toEqual({
			model: "claude-sonnet-4-5-20250929",
			max_tokens: 6144,
			system: [said("Be short.", BREAK), said("Mind the gap.")],
			messages: [{ role: "user", content: [said("hi", BREAK)] }],
			tools: [
				{ name: "look", description: "Looks", input_schema: { type: "object", properties: {} }, ...BREAK },
			],
			thinking: { type: "enabled", budget_tokens: 2048 },
			metadata: { user_id: "u", team: "t" },
			service_tier: "auto",
			stream: false,
		});
	});

	it("appends an instruction to instructions of any form", async () => {
		const instruction = "Answer with one JSON object and nothing else: no words around it, no code fence.";
		const systemOf = async (fields: Record<string, unknown>) =>
			(await bodyOf(converted(fields, { response_format: { type: "json_object" } }))).system;
		expect(await systemOf({ system: [said("Be short.", BREAK)] })).toEqual([
			said("Be short.", BREAK),
			said(instruction),
		]);
		expect(await systemOf({})).toBe(instruction);
		const system: ChatMessage = { role: "system", content: "Be short." };
		const input = { messages: [system], response_format: { type: "json_object" } } as const;
		const { system: joined } = await bodyOf({
			...input,
			messages: [system, { role: "user", content: "hi" }],
		});
		expect(joined).toBe(`Be short.\n\n${instruction}`);
	});

	it("removes trailing white space of a prefill, and continues an answer of another target", async () => {
		const prefill = { role: "assistant", content: [said("The ")] };
		const input = converted({ messages: [{ role: "user", content: "hi" }, prefill] });
		expect((await bodyOf(input)).messages).toEqual([
			{ role: "user", content: [said("hi")] },
			{ role: "assistant", content: [said("The")] },
		]);
		const continued: ChatMessage[] = [...(input.messages ?? []), { role: "assistant", content: "answer " }];
		expect((await bodyOf({ ...input, messages: continued })).messages).toEqual([
			{ role: "user", content: [said("hi")] },
			{ role: "assistant", content: [said("The ")] },
			{ role: "assistant", content: [said("answer")] },
		]);
	});

	it("keeps a breakpoint of the conversation, and omits fields without a value", async () => {
		const tool = { type: "function", function: { name: "look" } } as const;
		const sent = { name: "look", input_schema: { type: "object", properties: {} } };
		const empty = { cache_control: null, metadata: null, service_tier: null };
		const bare = await bodyOf(
			converted({ ...empty, tools: [{ name: "look", cache_control: null }] }, { tools: [tool] }),
		);
		expect(bare).toEqual({
			model: "claude-sonnet-4-5-20250929",
			max_tokens: 100,
			messages: [{ role: "user", content: [said("hi")] }],
			tools: [sent],
			stream: false,
		});
		expect(await bodyOf(converted({ ...BREAK, tools: "no list" }, { tools: [tool] }))).toMatchObject({
			...BREAK,
			tools: [sent],
		});
	});

	it("returns a chat completion", async () => {
		const { choices } = await outputOf(ask(converted({})));
		expect(choices[0]?.message).not.toHaveProperty("verbatim");
	});
});

describe("signed thinking blocks", () => {
	const call = { id: "c", type: "function", function: { name: "look", arguments: "{}" } } as const;
	const conversation = (thinking_blocks: ChatMessage["thinking_blocks"]): ChatMessage[] => [
		{ role: "user", content: "hi" },
		{ role: "assistant", content: null, tool_calls: [call], ...(thinking_blocks && { thinking_blocks }) },
		{ role: "tool", tool_call_id: "c", content: "a" },
	];

	it("are sent back before the calls, and thinking stays enabled", async () => {
		const blocks = [
			{ type: "thinking", thinking: "Hm.", signature: "sig" },
			{ type: "redacted_thinking", data: "x" },
		] as const;
		const [thinking, redacted] = blocks;
		const carried: ThinkingBlock[] = [
			{ ...thinking, signature: sealed({ block: thinking }) },
			{ ...redacted, data: sealed({ block: redacted }) },
		];
		const sent = await bodyOf({ messages: conversation(carried), reasoning_effort: "low" });
		expect(sent).toMatchObject({
			messages: [
				{ role: "user" },
				{ role: "assistant", content: [...blocks, { type: "tool_use", id: "c" }] },
				{ role: "user" },
			],
			thinking: { type: "enabled" },
		});
	});

	it("are one block before the calls", async () => {
		const block = { type: "thinking", thinking: "Hm.", signature: "sig" } as const;
		const carried = { ...block, signature: sealed({ block }) };
		const sent = await bodyOf({ messages: conversation([carried]), reasoning_effort: "low" });
		expect(sent).toMatchObject({ thinking: { type: "enabled" } });
	});

	it("disable thinking if they are missing", async () => {
		const unsigned = [{ type: "thinking", thinking: "Hm.", signature: "" }] as const;
		for (const blocks of [undefined, [...unsigned]]) {
			const sent = await bodyOf({ messages: conversation(blocks), reasoning_effort: "low" });
			expect(sent).not.toHaveProperty("thinking");
			expect(JSON.stringify(sent)).not.toContain("Hm.");
		}
	});
});
