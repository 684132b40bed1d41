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
const transcriptOf = (...deltas: ChatDelta[]): Transcript => {
	const transcript = new Transcript(newId);
	for (const delta of deltas) transcript.add(chunk(delta));
	return transcript;
};
const call = (index: number, name: string | undefined, args: string, id = `call-${index}`) => ({
	tool_calls: [
		{ index, ...(name !== undefined && { id, type: "function" }), function: { name, arguments: args } },
	],
});

/** What the caller has in the end. */
function joined(first: ChatDelta[], second: ChatDelta[]): Transcript {
	const transcript = transcriptOf(...first);
	const trimmer = new ReplayTrimmer(transcript, transcript.segments, newId);
	for (const delta of second) {
		const fresh = trimmer.trim(chunk(delta, "second"));
		if (fresh) transcript.add(fresh);
	}
	const end = trimmer.trim(chunk({}, "second", "stop"));
	expect(end?.choices[0]?.finish_reason).toBe("stop");
	return transcript;
}

/** A text in pieces that end where they may. */
const pieces = (text: string, cuts: number[]): string[] => {
	const places = [...new Set([0, ...cuts.map((cut) => cut % (text.length + 1)), text.length])].sort(
		(a, b) => a - b,
	);
	return places.slice(1).map((end, i) => text.slice(places[i], end));
};

describe("Transcript", () => {
	it("joins adjacent texts of one kind, whatever the chunks", () => {
		const transcript = transcriptOf(
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
		expect(transcript.segments).toEqual([
			{ channel: "reasoning", text: "Hmm." },
			{ channel: "content", text: "I call" },
			{ channel: "call 0 f", text: '{"a":1}' },
			{ channel: "call 1 g", text: "{}" },
		]);
		expect(transcript.head).toEqual({ id: "first", created: 1 });
	});

	it("reads the data of events, the last of which is empty", () => {
		const transcript = new Transcript(newId);
		for (const data of [JSON.stringify(chunk({ content: "é" })), "[DONE]"]) transcript.addEvent(data);
		expect(transcript.segments).toEqual([{ channel: "content", text: "é" }]);
		expect(() => transcript.addEvent("{no")).toThrow(AiError);
	});
});

describe("ReplayTrimmer", () => {
	it("yields the complete text once, wherever the first stream broke and however both are chunked", () => {
		const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 });
		const cuts = fc.array(fc.nat(60), { maxLength: 6 });
		fc.assert(
			fc.property(text, fc.nat(40), cuts, cuts, (text, cutAt, first, second) => {
				const begun = text.slice(0, cutAt % (text.length + 1));
				const contents = (texts: string[]) => texts.map((content) => ({ content }));
				const transcript = joined(contents(pieces(begun, first)), contents(pieces(text, second)));
				expect(transcript.text("content")).toBe(text);
			}),
		);
	});

	it("has the role of the second answer if the caller has received none", () => {
		const delta = { role: "assistant", content: "Hi" };
		const freshOf = (transcript: Transcript) =>
			new ReplayTrimmer(transcript, transcript.segments, newId).trim(chunk(delta))?.choices[0]?.delta;
		expect(freshOf(transcriptOf())).toEqual(delta);
		expect(freshOf(transcriptOf({ role: "assistant", content: "" }))).toEqual({ content: "Hi" });
		const other = new Transcript(newId);
		other.add({ ...chunk({}), choices: [{ index: 1, delta: { role: "assistant" }, finish_reason: null }] });
		expect(freshOf(other)).toEqual(delta);
	});

	it("refuses any other text, and gives nothing of it", () => {
		const text = fc.string({ minLength: 1, maxLength: 20 });
		fc.assert(
			fc.property(text, text, fc.array(fc.nat(40), { maxLength: 4 }), (begun, other, cuts) => {
				fc.pre(!other.startsWith(begun));
				const transcript = transcriptOf({ content: begun });
				const trimmer = new ReplayTrimmer(transcript, transcript.segments, newId);
				expect(() => {
					for (const content of pieces(other, cuts)) expect(trimmer.trim(chunk({ content }))).toBeUndefined();
					trimmer.trim(chunk({}, "second", "stop"));
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
		const expected = transcriptOf(...whole).segments;
		for (let cut = 0; cut <= whole.length; cut++)
			expect(joined(whole.slice(0, cut), whole).segments, `cut at ${cut}`).toEqual(expected);
	});

	it("keeps the first answer's id and the ids of its calls, and sends the role once", () => {
		const transcript = transcriptOf({ role: "assistant", content: "" }, call(0, "f", '{"a"', "kept"));
		const trimmer = new ReplayTrimmer(transcript, transcript.segments, newId);
		expect(trimmer.trim(chunk({ role: "assistant", content: "" }, "second"))).toBeUndefined();
		expect(trimmer.trim(chunk(call(0, "f", "", "other"), "second"))).toBeUndefined();
		expect(trimmer.trim(chunk(call(0, undefined, '{"a":1}'), "second"))).toEqual(
			chunk({ tool_calls: [{ index: 0, function: { arguments: ":1}" } }] }),
		);
		expect(trimmer.trim(chunk(call(1, "g", "{}", "its-own"), "second"))).toEqual(
			chunk({
				tool_calls: [{ index: 1, id: "its-own", type: "function", function: { name: "g", arguments: "{}" } }],
			}),
		);
	});

	it("continues a call under its first index", () => {
		const transcript = transcriptOf(call(3, "f", "{"));
		const trimmer = new ReplayTrimmer(transcript, transcript.segments, newId);
		expect(trimmer.trim(chunk(call(0, "f", "{}"), "second"))).toEqual(
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
		const transcript = transcriptOf({ reasoning_content: "Hm." }, { content: "I " });
		const trimmer = new ReplayTrimmer(transcript, transcript.segments, newId);
		expect(trimmer.trim(chunk({ reasoning_content: "Hm." }, "second"))).toBeUndefined();
		expect(trimmer.trim(chunk({ content: "I" }, "second"))).toBeUndefined();
		expect(trimmer.trim(chunk({ content: " " }, "second"))).toBeUndefined();
		const fresh = trimmer.trim(chunk({ content: "see" }, "second"));
		expect(fresh?.choices).toEqual([{ index: 0, delta: { content: "see" }, finish_reason: null }]);
		const both = new ReplayTrimmer(
			transcriptOf({ reasoning_content: "Hm." }),
			[{ channel: "reasoning", text: "Hm." }],
			newId,
		);
		const joined = both.trim(chunk({ reasoning_content: "Hm.", content: "I" }, "second"));
		expect(joined?.choices[0]?.delta).toEqual({ content: "I" });
	});

	it("passes usage on, and nothing else of other choices", () => {
		const transcript = transcriptOf({ content: "A" });
		const trimmer = new ReplayTrimmer(transcript, transcript.segments, newId);
		const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
		const empty = { ...chunk({}, "second"), choices: [] };
		expect(trimmer.trim({ ...empty, usage })).toEqual({ ...empty, id: "first", usage });
		expect(trimmer.trim(empty)).toBeUndefined();
	});
});

describe("sealed reasoning of the second answer", () => {
	const seal = (text: string) => ({ google: { thought_signature: text } });
	const thinking = { type: "thinking" as const, thinking: "Hm.", signature: "second-1" };
	const fresh = (first: ChatDelta[], ...second: ChatDelta[]): (ChatDelta | undefined)[] => {
		const transcript = transcriptOf(...first);
		const trimmer = new ReplayTrimmer(transcript, transcript.segments, newId);
		return second.map((delta) => trimmer.trim(chunk(delta, "second"))?.choices[0]?.delta);
	};

	it("comes with the first part that is new", () => {
		const first = [{ role: "assistant", content: "It is " }];
		expect(fresh(first, { thinking_blocks: [thinking] }, { content: "It" }, { content: " is 18." })).toEqual([
			undefined,
			undefined,
			{ content: "18.", thinking_blocks: [thinking] },
		]);
	});

	it("does not come from an answer that differs", () => {
		const first = [{ role: "assistant", content: "It is " }];
		expect(() => fresh(first, { extra_content: seal("second-1") }, { content: "No." })).toThrow(
			DivergedError,
		);
	});

	it("of a call is the call's, and is not carried for a call that the caller has", () => {
		const signed = (index: number, name: string, text: string): ChatDelta => ({
			tool_calls: call(index, name, "{}").tool_calls.map((each) => ({ ...each, extra_content: seal(text) })),
		});
		expect(fresh([call(0, "f", "{}")], signed(0, "f", "second-1"), signed(1, "g", "second-2"))).toEqual([
			undefined,
			{
				tool_calls: [
					{
						index: 1,
						id: "call-1",
						type: "function",
						extra_content: seal("second-2"),
						function: { name: "g", arguments: "{}" },
					},
				],
			},
		]);
	});
});
