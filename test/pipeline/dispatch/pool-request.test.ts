import { describe, expect, it } from "vitest";
import { EMPTY_REQUEST, poolRequestOf } from "../../../src/pipeline/dispatch/pool-request.ts";
import { Pool } from "../../../src/pools/pool.ts";
import type { PoolSettings } from "../../../src/pools/pool-settings.ts";
import type { TaskCall } from "../../../src/tasks/task.ts";
import type { ChatInput, ChatMessage } from "../../../src/tasks/text-generation/types.ts";

const SYSTEM: ChatMessage = { role: "system", content: "You are helpful. ".repeat(300) };
const HELLO: ChatMessage = { role: "user", content: "Hello" };

const chat = (messages: ChatMessage[], more: Partial<ChatInput> = {}): TaskCall => ({
	task: "text-generation",
	input: { messages, stream: true, ...more },
});
const requestOf = (
	call: TaskCall,
	{
		account = "a",
		session,
		settings = {},
		passedThrough = false,
	}: { account?: string; session?: string; settings?: PoolSettings; passedThrough?: boolean } = {},
) =>
	poolRequestOf(
		call,
		{ model: "m", pool: { urls: [], arrivals: { count: 0 }, replicas: new Pool(), settings } },
		{ account, ...(session !== undefined && { session }), passedThrough },
	);

describe("poolRequestOf", () => {
	it("estimates the tokens of the prompt, and takes the caller's limit of the output", () => {
		const request = requestOf(chat([{ role: "user", content: "x".repeat(396) }], { max_tokens: 9 }));
		expect(request).toMatchObject({ inputTokens: 100, maxOutputTokens: 9, blocks: [], streamed: true });
		const image = {
			type: "image_url" as const,
			image_url: { url: `data:image/png;base64,${"A".repeat(90_000)}` },
		};
		const { inputTokens } = requestOf(chat([{ role: "user", content: [image] }]));
		expect(inputTokens).toBeGreaterThan(1_000);
		expect(inputTokens).toBeLessThan(1_200);
	});

	it("gives the turns of a conversation the same blocks and the same session", () => {
		const first = requestOf(chat([SYSTEM, HELLO]));
		const answer: ChatMessage = { role: "assistant", content: "Hi." };
		const second = requestOf(chat([SYSTEM, HELLO, answer, { role: "user", content: "x".repeat(4_000) }]));
		expect(first.blocks).toHaveLength(2);
		expect(second.blocks.slice(0, 2)).toEqual(first.blocks);
		expect(second.session).toBe(first.session);
		expect(requestOf(chat([SYSTEM, { role: "user", content: "Other" }])).session).not.toBe(first.session);
	});

	it("has an unobserved first token if the stream passes through, or is none", () => {
		expect(requestOf(chat([HELLO]), { passedThrough: true }).streamed).toBe(false);
		expect(requestOf(chat([HELLO], { stream: false })).streamed).toBe(false);
	});

	it("keeps the session that the caller names also without a conversation", () => {
		const texts: TaskCall = { task: "text-embeddings", input: { texts: ["x"] } };
		const input = { texts: ["Hallo"], source_lang: "de", target_lang: "en" };
		for (const call of [texts, { task: "translation", input } as TaskCall])
			expect(requestOf(call, { session: "a s-1" })).toMatchObject({ session: "a s-1", blocks: [] });
	});

	it("has the number of answers only if a prefill and a decode replica can make them together", () => {
		expect(requestOf(chat([HELLO])).choices).toBe(1);
		expect(requestOf(chat([HELLO], { n: 3 })).choices).toBe(3);
		const embeddings: TaskCall = { task: "text-embeddings", input: { texts: ["x"] } };
		expect(requestOf(embeddings)).not.toHaveProperty("choices");
	});

	it("has no tokens for a call that could not be parsed", () => {
		expect(EMPTY_REQUEST).toEqual({ inputTokens: 0, blocks: [], blockTokens: 512, streamed: false });
	});

	it("prefers the session that the caller names", () => {
		expect(requestOf(chat([HELLO]), { session: "a s-1" }).session).toBe("a s-1");
	});

	it("never matches the prompts of another account, unless the pool shares them", () => {
		const call = chat([SYSTEM, HELLO]);
		const [mine, theirs] = ["a", "b"].map((account) => requestOf(call, { account }));
		expect(mine?.blocks[0]).not.toBe(theirs?.blocks[0]);
		expect(mine?.session).not.toBe(theirs?.session);
		const settings = { sharedPrompts: true };
		const [one, other] = ["a", "b"].map((account) => requestOf(call, { account, settings }));
		expect(one?.blocks).toEqual(other?.blocks);
		expect(one?.session).not.toBe(other?.session);
	});

	it("distinguishes tools, images and tool calls", () => {
		const tool = (name: string) => ({ type: "function" as const, function: { name } });
		const opening = (more: Partial<ChatInput>, message = HELLO) => requestOf(chat([message], more)).session;
		expect(opening({ tools: [tool("a")] })).not.toBe(opening({ tools: [tool("b")] }));
		const image = (url: string): ChatMessage => ({
			role: "user",
			content: [{ type: "image_url", image_url: { url } }],
		});
		const data = (end: string) => image(`data:image/png;base64,${"A".repeat(5_000)}${end}`);
		expect(opening({}, data("x"))).not.toBe(opening({}, data("y")));
	});

	it("has no blocks and no session for tasks without conversations", () => {
		const call: TaskCall = { task: "text-embeddings", input: { texts: ["x".repeat(4_000), "y"] } };
		expect(requestOf(call)).toEqual({ blockTokens: 512, streamed: false, inputTokens: 1_001, blocks: [] });
		const input = { texts: ["Hallo"], source_lang: "de", target_lang: "en" };
		expect(requestOf({ task: "translation", input })).toEqual({
			blockTokens: 512,
			streamed: false,
			inputTokens: 0,
			blocks: [],
		});
	});
});
