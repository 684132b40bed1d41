import { describe, expect, it } from "vitest";
import { configure } from "../../src/config/index.ts";
import { adHocModel, Catalog } from "../../src/models/catalog.ts";
import { fitContext } from "../../src/pipeline/prepare.ts";
import type { ChatInput } from "../../src/tasks/text-generation/types.ts";

const model = { ...adHocModel("m"), contextWindow: 100 };
const chat = (input: Partial<ChatInput>) => ({
	task: "text-generation" as const,
	input: { messages: [], stream: false, ...input },
});
const say = (content: string): Partial<ChatInput> => ({ messages: [{ role: "user", content }] });

describe("fitContext", () => {
	it("refuses what is surely too long, and nothing else", () => {
		const words = (count: number) => say("word ".repeat(count));
		expect(() => fitContext(chat({ ...words(100), max_tokens: 10 }), model, undefined)).not.toThrow();
		expect(() => fitContext(chat({ ...words(100), max_tokens: 30 }), model, undefined)).toThrow(
			/^5021: The estimated number of input and maximum output tokens \(1[01]\d\) exceeded this model context window limit \(100\)$/,
		);
	});

	it("counts exactly where the simulator alone answers", () => {
		const { routing } = configure({
			BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" } },
			ROUTES: {
				simulated: [{ backend: "simulator" }],
				engine: [{ backend: "engine" }],
				both: [{ backend: "simulator" }, { backend: "engine" }],
			},
		});
		// A token a word, and 11 for what the chat template puts around one message and the reply.
		const words = say("word ".repeat(86).trim());
		const simulator = routing.find("simulated");
		expect(() => fitContext(chat({ ...words, max_tokens: 3 }), model, simulator)).not.toThrow();
		expect(() => fitContext(chat({ ...words, max_tokens: 4 }), model, simulator)).toThrow(
			"5021: The estimated number of input and maximum output tokens (101) exceeded this model context window limit (100)",
		);
		expect(() => fitContext(chat({ ...words, max_tokens: 4 }), model, routing.find("engine"))).not.toThrow();
		expect(() => fitContext(chat({ ...words, max_tokens: 4 }), model, routing.find("both"))).not.toThrow();
	});

	it("takes what has fewer bytes than the window tokens as it is", () => {
		expect(() =>
			fitContext(chat({ ...say("字".repeat(20)), max_tokens: 40 }), model, undefined),
		).not.toThrow();
		expect(() => fitContext(chat({ max_tokens: 101 }), model, undefined)).toThrow("5021");
	});

	it("counts prompts, parts, tools and earlier calls", () => {
		const long = "word ".repeat(200);
		const tool = { type: "function" as const, function: { name: "f", description: long } };
		const call = { id: "1", type: "function" as const, function: { name: "f", arguments: long } };
		for (const input of [
			chat({ prompt: long }),
			chat({ messages: [{ role: "user", content: [{ type: "text", text: long }] }] }),
			chat({ tools: [tool] }),
			chat({ messages: [{ role: "assistant", content: null, tool_calls: [call] }] }),
		])
			expect(() => fitContext(input, model, undefined)).toThrow("5021");
	});

	it("counts scripts without spaces by the character", () => {
		expect(() => fitContext(chat(say("字".repeat(200))), model, undefined)).toThrow("5021");
	});

	it("does not check a model with an unknown window", () => {
		expect(() => fitContext(chat(say("a".repeat(1e6))), adHocModel("m"), undefined)).not.toThrow();
	});

	it("has bge-m3's own words, unless it may cut", () => {
		const m3 = new Catalog().find("@cf/baai/bge-m3");
		if (!m3) throw new Error("no bge-m3");
		const embed = (texts: string[], truncate = false) =>
			fitContext({ task: "text-embeddings", input: { texts, truncate } }, m3, undefined);
		const long = "word ".repeat(8000);
		expect(() => embed([long])).toThrow(/^3030: Sequence too long: \d+ > 8192$/);
		expect(() => embed([long], true)).not.toThrow();
		expect(() => embed(Array.from({ length: 60 }, () => "word ".repeat(1000)))).toThrow(
			/^3030: Max context reached \d+ tokens but model supports only 60000$/,
		);
	});
});
