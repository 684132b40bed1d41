import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ChatInput } from "../../../src/tasks/text-generation/types.ts";
import completionJson from "../../fixtures/openai/llama-cpp/completion.json?raw";
import completionSse from "../../fixtures/openai/llama-cpp/completion.sse?raw";
import logprobsJson from "../../fixtures/openai/llama-cpp/completion-logprobs.json?raw";
import openaiJson from "../../fixtures/openai/openai/completion.json?raw";
import { eventsOf, outputOf } from "../ask.ts";
import { drain, eventStream, failureOf, json, tap } from "../upstream.ts";
import { ask } from "./ask.ts";

const RAW: ChatInput = { messages: [], prompt: "Once upon", stream: false };

const events = (text: string): unknown[] =>
	text
		.split("\n\n")
		.filter((event) => event.startsWith("data: {"))
		.map((event) => JSON.parse(event.slice(6)));

describe("a raw prompt", () => {
	it("is sent to /completions without template fields", async () => {
		const asking = ask(
			"text-generation",
			{
				...RAW,
				suffix: "ever after.",
				max_tokens: 5,
				top_k: 3,
				logprobs: true,
				top_logprobs: 2,
				stop: ["."],
				tools: [{ type: "function", function: { name: "a" } }],
				reasoning_effort: null,
				passthrough: { best_of: 100 },
			},
			() => json(completionJson),
		);
		await asking.answer;
		expect(asking.call.requests[0]?.url).toBe("http://engine.test/v1/completions");
		expect(asking.call.requests[0]?.json).toEqual({
			model: "engine-model",
			prompt: "Once upon",
			suffix: "ever after.",
			max_tokens: 5,
			top_k: 3,
			logprobs: 2,
			stop: ["."],
			stream: false,
		});
	});

	it.each([
		[true, 0],
		[false, undefined],
		[undefined, undefined],
	])("requests log probabilities as a number: %s", async (logprobs, number) => {
		const asking = ask("text-generation", { ...RAW, logprobs }, () => json(completionJson));
		await asking.answer;
		expect(asking.call.requests[0]?.json.logprobs).toBe(number);
	});
});

describe("the reply to a raw prompt", () => {
	it("is a chat completion", async () => {
		const { choices, timings, ...recorded } = JSON.parse(completionJson);
		expect(choices).toMatchObject([{ text: "p is " }]);
		expect(await outputOf(ask("text-generation", RAW, () => json(completionJson)))).toEqual({
			...recorded,
			timings,
			object: "chat.completion",
			choices: [
				{
					index: 0,
					message: { role: "assistant", content: "p is " },
					logprobs: null,
					finish_reason: "length",
				},
			],
		});
	});

	it("converts OpenAI's log probabilities", async () => {
		const { choices } = await outputOf(ask("text-generation", RAW, () => json(openaiJson)));
		expect(choices[0]?.logprobs).toEqual({
			content: [
				{
					token: " the",
					logprob: -0.1,
					bytes: [32, 116, 104, 101],
					top_logprobs: [
						{ token: " the", logprob: -0.1, bytes: [32, 116, 104, 101] },
						{ token: " The", logprob: -2.5, bytes: [32, 84, 104, 101] },
					],
				},
				{ token: " end", logprob: -0.25, bytes: [32, 101, 110, 100], top_logprobs: [] },
			],
		});
	});

	it("accepts a complete reply, or events if they are requested", async () => {
		const acceptOf = async (stream: boolean) => {
			const asking = ask("text-generation", { ...RAW, stream }, () => json(completionJson));
			await asking.answer;
			return asking.call.requests[0]?.headers.get("accept");
		};
		expect(await acceptOf(false)).toBe("application/json");
		expect(await acceptOf(true)).toBe("text/event-stream, application/json");
	});

	it("numbers choices, and has the current time", async () => {
		vi.useFakeTimers({ now: 4_000_000_000_999, toFake: ["Date"] });
		onTestFinished(() => void vi.useRealTimers());
		const logprobs = { tokens: ["a"], token_logprobs: null, top_logprobs: [null] };
		const nothing = { id: null, created: null, model: null, usage: null };
		const choices = [
			{ index: null, text: "", finish_reason: "stop" },
			{ text: "", finish_reason: "stop", logprobs },
		];
		const choice = { message: { role: "assistant", content: "" }, logprobs: null, finish_reason: "stop" };
		expect(
			await outputOf(ask("text-generation", { ...RAW, n: 2 }, () => json({ ...nothing, choices }))),
		).toEqual({
			id: "cmpl-uuid-1",
			object: "chat.completion",
			created: 4_000_000_000,
			model: "engine-model",
			choices: [
				{ ...choice, index: 0 },
				{
					...choice,
					index: 1,
					logprobs: { content: [{ token: "a", logprob: 0, bytes: [97], top_logprobs: [] }] },
				},
			],
		});
	});

	it("rejects a reply without choices", async () => {
		const { answer } = ask("text-generation", RAW, () => json({ choices: [] }));
		expect(await failureOf(answer)).toMatchObject({ key: "executionFailed" });
	});

	it("keeps log probabilities in a chat's format", async () => {
		const { choices } = await outputOf(ask("text-generation", RAW, () => json(logprobsJson)));
		expect(choices[0]?.logprobs).toEqual(JSON.parse(logprobsJson).choices[0].logprobs);
	});
});

describe("the stream of a raw prompt", () => {
	const STREAM: ChatInput = { ...RAW, stream: true };

	it("has chat chunks: one role, texts, finish reason, usage, [DONE]", async () => {
		const { text, error } = await drain(
			await eventsOf(ask("text-generation", STREAM, () => eventStream(completionSse))),
		);
		expect(error).toBeUndefined();
		expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
		const recorded = events(completionSse) as { id: string; created: number }[];
		const choice = (delta: object, finish_reason: string | null = null) => [
			{ index: 0, delta, logprobs: null, finish_reason },
		];
		expect(events(text)).toMatchObject([
			{ object: "chat.completion.chunk", choices: choice({ role: "assistant", content: "p" }) },
			{ choices: choice({ content: " " }) },
			{ choices: choice({ content: "i" }) },
			{ choices: choice({ content: "n" }) },
			{ choices: choice({ content: " " }) },
			{
				id: recorded[0]?.id,
				created: recorded[0]?.created,
				model: "recite",
				choices: choice({ content: "" }, "length"),
				usage: { prompt_tokens: 2, completion_tokens: 5, total_tokens: 7 },
			},
		]);
	});

	it("is interrupted if its one choice does not finish", async () => {
		const unfinished = 'data: {"choices":[{"index":0,"text":"a"}]}\n\n';
		const { error } = await drain(
			await eventsOf(ask("text-generation", STREAM, () => eventStream(unfinished))),
		);
		expect(error).toMatchObject({ description: "The backend 'lab' was cut off mid-answer" });
	});

	it("has one id if the engine sends none", async () => {
		const event = (text: string, finish_reason: string | null) =>
			`data: ${JSON.stringify({ choices: [{ text, finish_reason }] })}\n\n`;
		const body = event("a", null) + event("b", "stop");
		const { text } = await drain(await eventsOf(ask("text-generation", STREAM, () => eventStream(body))));
		expect(events(text)).toMatchObject([
			{ id: "cmpl-uuid-1", model: "engine-model" },
			{ id: "cmpl-uuid-1", model: "engine-model" },
		]);
		expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
	});

	it("has one role per choice, and indices by position", async () => {
		const event = (...choices: object[]) => `data: ${JSON.stringify({ choices })}\n\n`;
		const body =
			event({ text: "a" }, { text: "" }) +
			event({ index: 1, text: "b", finish_reason: "stop" }, { index: 0, text: "c", finish_reason: "stop" });
		const asking = ask("text-generation", { ...STREAM, n: 2 }, () => eventStream(body));
		const choice = (index: number, delta: object, finish_reason: string | null) => ({
			index,
			delta,
			logprobs: null,
			finish_reason,
		});
		expect(
			events((await drain(await eventsOf(asking))).text).map(
				(each) => (each as { choices: unknown }).choices,
			),
		).toEqual([
			[
				choice(0, { role: "assistant", content: "a" }, null),
				choice(1, { role: "assistant", content: "" }, null),
			],
			[choice(1, { content: "b" }, "stop"), choice(0, { content: "c" }, "stop")],
		]);
	});

	it("has a finish reason only if the engine's is not empty", async () => {
		const event = (finish_reason: string) =>
			`data: ${JSON.stringify({ choices: [{ text: "a", finish_reason }] })}\n\n`;
		const asking = ask("text-generation", STREAM, () => eventStream(event("") + event("stop")));
		expect(events((await drain(await eventsOf(asking))).text)).toMatchObject([
			{ choices: [{ finish_reason: null }] },
			{ choices: [{ finish_reason: "stop" }] },
		]);
		const whole = { choices: [{ text: "a", finish_reason: "" }] };
		expect(await outputOf(ask("text-generation", RAW, () => json(whole)))).toMatchObject({
			choices: [{ finish_reason: "stop" }],
		});
	});

	it("errors if it is interrupted or malformed", async () => {
		const start = completionSse.slice(0, 400);
		const cut = await drain(await eventsOf(ask("text-generation", STREAM, () => eventStream(start))));
		expect(cut.error).toMatchObject({ key: "executionFailed" });
		expect(events(cut.text)).toHaveLength(1);

		const odd = ask("text-generation", STREAM, () => eventStream("data: 7\n\n"));
		expect(await failureOf(odd.answer)).toMatchObject({ key: "executionFailed" });
	});

	it("returns a complete reply as a value", async () => {
		expect(await outputOf(ask("text-generation", STREAM, () => json(completionJson)))).toMatchObject({
			choices: [{ message: { content: "p is " } }],
		});
	});

	it("aborts the fetch when cancelled", async () => {
		const upstream = tap();
		upstream.push('data: {"choices":[]}\n\n');
		const asking = ask("text-generation", STREAM, () => eventStream(upstream.body));
		await (await eventsOf(asking)).cancel();
		expect(asking.call.requests[0]?.signal.aborted).toBe(true);
		expect(upstream.cancelled).toBe(true);
	});
});
