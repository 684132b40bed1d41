import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { DivergedError, ReplayTrimmer } from "../../../src/pipeline/dispatch/replay-trimmer.ts";
import { Transcript } from "../../../src/pipeline/dispatch/transcript.ts";
import type { ChatChunk, ChatDelta } from "../../../src/tasks/text-generation/types.ts";

const newId = () => "new";
const chunk = (delta: ChatDelta, id = "first", finish_reason: string | null = null): ChatChunk => ({
	id,
	object: "chat.completion.chunk",
	created: 1,
	model: "m",
	choices: [{ index: 0, delta, finish_reason }],
});
const saidOf = (...deltas: ChatDelta[]): Transcript => {
	const said = new Transcript(newId);
	for (const delta of deltas) said.add(chunk(delta));
	return said;
};
const call = (index: number, name: string | undefined, args: string, id = `call-${index}`) => ({
	tool_calls: [
		{ index, ...(name !== undefined && { id, type: "function" }), function: { name, arguments: args } },
	],
});

/** What the caller has in the end. */
function joined(first: ChatDelta[], second: ChatDelta[]): Transcript {
	const said = saidOf(...first);
	const rejoin = new ReplayTrimmer(said, said.segments, newId);
	for (const delta of second) {
		const fresh = rejoin.trim(chunk(delta, "second"));
		if (fresh) said.add(fresh);
	}
	const end = rejoin.trim(chunk({}, "second", "stop"));
	expect(end?.choices[0]?.finish_reason).toBe("stop");
	return said;
}

/** A text in pieces that end where they may. */
const pieces = (text: string, cuts: number[]): string[] => {
	const places = [...new Set([0, ...cuts.map((cut) => cut % (text.length + 1)), text.length])].sort(
		(a, b) => a - b,
	);
	return places.slice(1).map((end, i) => text.slice(places[i], end));
};

describe("Transcript", () => {
	it("adds up texts of one kind in a row, whatever the chunks", () => {
		const said = saidOf(
			{ role: "assistant", content: "" },
			{ reasoning_content: "Hm", reasoning: "Hm" },
			{ reasoning: "m." },
			{ content: "I " },
			{ content: "call" },
			call(0, "f", ""),
			call(0, undefined, '{"a"'),
			call(0, undefined, ":1}"),
			call(1, "g", "{}"),
		);
		expect(said.segments).toEqual([
			{ channel: "reasoning", text: "Hmm." },
			{ channel: "content", text: "I call" },
			{ channel: "call 0 f", text: '{"a":1}' },
			{ channel: "call 1 g", text: "{}" },
		]);
		expect(said.head).toEqual({ id: "first", created: 1 });
	});

	it("reads the data of events, of which the last says nothing", () => {
		const said = new Transcript(newId);
		for (const data of [JSON.stringify(chunk({ content: "é" })), "[DONE]"]) said.addEvent(data);
		expect(said.segments).toEqual([{ channel: "content", text: "é" }]);
		expect(() => said.addEvent("{no")).toThrow(AiError);
	});
});

describe("ReplayTrimmer", () => {
	it("gives the whole text once, wherever the first was cut and however both come in pieces", () => {
		const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 });
		const cuts = fc.array(fc.nat(60), { maxLength: 6 });
		fc.assert(
			fc.property(text, fc.nat(40), cuts, cuts, (text, cutAt, first, second) => {
				const begun = text.slice(0, cutAt % (text.length + 1));
				const contents = (texts: string[]) => texts.map((content) => ({ content }));
				const said = joined(contents(pieces(begun, first)), contents(pieces(text, second)));
				expect(said.text("content")).toBe(text);
			}),
		);
	});

	it("refuses any other text, and gives nothing of it", () => {
		const text = fc.string({ minLength: 1, maxLength: 20 });
		fc.assert(
			fc.property(text, text, fc.array(fc.nat(40), { maxLength: 4 }), (begun, other, cuts) => {
				fc.pre(!other.startsWith(begun));
				const said = saidOf({ content: begun });
				const rejoin = new ReplayTrimmer(said, said.segments, newId);
				expect(() => {
					for (const content of pieces(other, cuts)) expect(rejoin.trim(chunk({ content }))).toBeUndefined();
					rejoin.trim(chunk({}, "second", "stop"));
				}).toThrow(DivergedError);
			}),
		);
	});

	it("joins thoughts, text and calls, cut in any of them", () => {
		const whole: ChatDelta[] = [
			{ role: "assistant", content: "" },
			{ reasoning_content: "Think " },
			{ reasoning_content: "hard." },
			{ content: "I look " },
			{ content: "it up." },
			call(0, "find", ""),
			call(0, undefined, '{"q":'),
			call(0, undefined, '"x"}'),
			call(1, "open", '{"n"'),
			call(1, undefined, ":1}"),
		];
		const expected = saidOf(...whole).segments;
		for (let cut = 0; cut <= whole.length; cut++)
			expect(joined(whole.slice(0, cut), whole).segments, `cut at ${cut}`).toEqual(expected);
	});

	it("keeps the first answer's id and the ids of its calls, and says the role once", () => {
		const said = saidOf({ role: "assistant", content: "" }, call(0, "f", '{"a"', "kept"));
		const rejoin = new ReplayTrimmer(said, said.segments, newId);
		expect(rejoin.trim(chunk({ role: "assistant", content: "" }, "second"))).toBeUndefined();
		expect(rejoin.trim(chunk(call(0, "f", "", "other"), "second"))).toBeUndefined();
		expect(rejoin.trim(chunk(call(0, undefined, '{"a":1}'), "second"))).toEqual(
			chunk({ tool_calls: [{ index: 0, function: { arguments: ":1}" } }] }),
		);
		expect(rejoin.trim(chunk(call(1, "g", "{}", "its-own"), "second"))).toEqual(
			chunk({
				tool_calls: [{ index: 1, id: "its-own", type: "function", function: { name: "g", arguments: "{}" } }],
			}),
		);
	});

	it("goes on under the number that the caller knows a call by", () => {
		const said = saidOf(call(3, "f", "{"));
		const rejoin = new ReplayTrimmer(said, said.segments, newId);
		expect(rejoin.trim(chunk(call(0, "f", "{}"), "second"))).toEqual(
			chunk({ tool_calls: [{ index: 3, function: { arguments: "}" } }] }),
		);
	});

	it.each<[string, ChatDelta[], ChatDelta[]]>([
		["another tool", [call(0, "f", "{")], [call(0, "g", "{}")]],
		["a call without arguments that was another's", [call(0, "f", "")], [{ content: "No." }]],
		["text where there were thoughts", [{ reasoning: "Hm" }], [{ content: "Hm" }]],
		["thoughts that go on", [{ reasoning: "Hm" }, { content: "A" }], [{ reasoning: "Hmm" }]],
		["thoughts that end sooner", [{ reasoning: "Hm" }], [{ reasoning: "H" }, { content: "A" }]],
		["text before thoughts", [{ reasoning: "Hm" }, { content: "A" }], [{ content: "A" }]],
		["one call where there were two", [call(0, "f", "{}"), call(1, "f", "{}")], [call(0, "f", "{}")]],
	])("refuses %s", (_, first, second) => {
		expect(() => joined(first, second)).toThrow(DivergedError);
	});

	it("passes nothing on of a chunk that only repeats, and no empty text beside a new one", () => {
		const said = saidOf({ reasoning_content: "Hm." }, { content: "I " });
		const rejoin = new ReplayTrimmer(said, said.segments, newId);
		expect(rejoin.trim(chunk({ reasoning_content: "Hm." }, "second"))).toBeUndefined();
		expect(rejoin.trim(chunk({ content: "I" }, "second"))).toBeUndefined();
		expect(rejoin.trim(chunk({ content: " " }, "second"))).toBeUndefined();
		const fresh = rejoin.trim(chunk({ content: "see" }, "second"));
		expect(fresh?.choices).toEqual([{ index: 0, delta: { content: "see" }, finish_reason: null }]);
		const both = new ReplayTrimmer(
			saidOf({ reasoning_content: "Hm." }),
			[{ channel: "reasoning", text: "Hm." }],
			newId,
		);
		const joined = both.trim(chunk({ reasoning_content: "Hm.", content: "I" }, "second"));
		expect(joined?.choices[0]?.delta).toEqual({ content: "I" });
	});

	it("passes usage on, and nothing else of other choices", () => {
		const said = saidOf({ content: "A" });
		const rejoin = new ReplayTrimmer(said, said.segments, newId);
		const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
		const empty = { ...chunk({}, "second"), choices: [] };
		expect(rejoin.trim({ ...empty, usage })).toEqual({ ...empty, id: "first", usage });
		expect(rejoin.trim(empty)).toBeUndefined();
	});
});
