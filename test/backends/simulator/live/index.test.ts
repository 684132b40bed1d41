import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type {
	ListenCommand,
	LiveTranscription,
	LiveTranscriptionInput,
	Segments,
	TranscriptionEvent,
	Turns,
} from "../../../../src/tasks/live-transcription/types.ts";
import { run } from "../fixture.ts";
import { audio, RATE, segments, silence, turns } from "./audio.ts";

const samples = { encoding: "linear16", sample_rate: RATE, channels: 1 } as const;
const session = (input: Partial<LiveTranscriptionInput> = {}): Promise<LiveTranscription> =>
	run("live-transcription", { samples, division: turns({ eager_eot_threshold: 0.4 }), ...input });

async function collect(readable: ReadableStream<TranscriptionEvent>): Promise<TranscriptionEvent[]> {
	const events: TranscriptionEvent[] = [];
	for await (const event of readable) events.push(event);
	return events;
}

async function eventsFor(
	division: Turns | Segments,
	...commands: ListenCommand[]
): Promise<TranscriptionEvent[]> {
	const { readable, writable } = await session({ division });
	const events = collect(readable);
	const writer = writable.getWriter();
	for (const command of commands) await writer.write(command);
	await writer.close();
	return await events;
}

function line(event: TranscriptionEvent): string {
	switch (event.kind) {
		case "segment": {
			const { start, end, transcript, is_final, speech_final, from_finalize } = event;
			const marks = [is_final && "final", speech_final && "speech_final", from_finalize && "from_finalize"];
			return [`${start}-${end}`, transcript, ...marks].filter(Boolean).join(" ");
		}
		case "turn":
			return `${event.turn_index} ${event.event} ${event.start}-${event.end} ${event.transcript}`.trim();
		case "speech-started":
			return `started ${event.timestamp}`;
		case "utterance-end":
			return `utterance ended ${event.last_word_end}`;
		case "ended":
			return `ended ${event.duration}`;
		default:
			return event satisfies never;
	}
}
const lines = async (division: Turns | Segments, ...commands: ListenCommand[]): Promise<string[]> =>
	(await eventsFor(division, ...commands)).map(line);
/** Without updates. */
const changes = async (rules: Partial<Turns>, ...commands: ListenCommand[]): Promise<string[]> =>
	(await lines(turns(rules), ...commands)).filter((text) => !/Update|ended/.test(text));

const finalize: ListenCommand = { kind: "finalize" };

describe("turns", () => {
	it("start with the first word, grow, and end with silence, once in 4.8 s", async () => {
		expect(await lines(turns(), audio(silence(5.3)))).toEqual([
			"0 Update 0-0.24",
			"0 StartOfTurn 0-0.48 This",
			"0 Update 0-0.72 This is",
			"0 Update 0-0.96 This is simulated",
			"0 Update 0-1.2 This is simulated speech,",
			"0 Update 0-1.44 This is simulated speech,",
			"0 Update 0-1.68 This is simulated speech, and",
			"0 Update 0-1.92 This is simulated speech, and no",
			"0 Update 0-2.16 This is simulated speech, and no model",
			"0 Update 0-2.4 This is simulated speech, and no model listened.",
			"0 Update 0-2.64 This is simulated speech, and no model listened.",
			"0 Update 0-2.88 This is simulated speech, and no model listened.",
			"0 EndOfTurn 0-3.12 This is simulated speech, and no model listened.",
			"1 Update 3.12-3.36",
			"1 Update 3.12-3.6",
			"1 Update 3.12-3.84",
			"1 Update 3.12-4.08",
			"1 Update 3.12-4.32",
			"1 Update 3.12-4.56",
			"1 Update 3.12-4.8",
			"1 Update 3.12-5.04",
			"1 StartOfTurn 3.12-5.28 This",
			"1 Update 3.12-5.3 This",
			"ended 5.3",
		]);
	});

	it("have the time of each word, and the confidence of the silence", async () => {
		const events = await eventsFor(turns(), audio(silence(1.44)));
		expect(events.at(-2)).toMatchObject({
			words: [
				{ word: "This", start: 0.24, end: 0.48, confidence: 1 },
				{ word: "is", start: 0.48, end: 0.72, confidence: 1 },
				{ word: "simulated", start: 0.72, end: 0.96, confidence: 1 },
				{ word: "speech,", start: 0.96, end: 1.2, confidence: 1 },
			],
			end_of_turn_confidence: 0.4512,
		});
	});

	it.each([
		["eot_threshold 0.5", { eot_threshold: 0.5 }, 2.88],
		["eot_threshold 0.9", { eot_threshold: 0.9 }, 3.36],
		["eot_timeout_ms", { eot_threshold: 0.9, eot_timeout_ms: 500 }, 3.12],
	])("end after the silence for %s", async (_, rules, end) => {
		expect(await changes(rules, audio(silence(4.8)))).toEqual([
			"0 StartOfTurn 0-0.48 This",
			`0 EndOfTurn 0-${end} This is simulated speech, and no model listened.`,
		]);
	});

	it("have eager ends if requested, and resume", async () => {
		expect(await changes({ eager_eot_threshold: 0.4 }, audio(silence(4.8)))).toEqual([
			"0 StartOfTurn 0-0.48 This",
			"0 EagerEndOfTurn 0-1.44 This is simulated speech,",
			"0 TurnResumed 0-1.68 This is simulated speech, and",
			"0 EagerEndOfTurn 0-2.64 This is simulated speech, and no model listened.",
			"0 EndOfTurn 0-3.12 This is simulated speech, and no model listened.",
		]);
	});

	it("end on demand, and the next one follows", async () => {
		const sound = [finalize, audio(silence(1)), finalize, finalize, audio(silence(0.3))];
		expect(await changes({}, ...sound)).toEqual([
			"0 StartOfTurn 0-0.48 This",
			"0 EndOfTurn 0-1 This is simulated",
			"1 StartOfTurn 1-1.2 speech,",
		]);
	});
});

describe("segments", () => {
	it("end at the pauses that endpointing makes", async () => {
		expect(await lines(segments(), audio(silence(4.5)))).toEqual([
			"0-2.88 This is simulated speech, and no model listened. final speech_final",
			"2.88-4.5 final",
			"ended 4.5",
		]);
		expect(await lines(segments({ endpointing: 10 }), audio(silence(4.5)))).toEqual([
			"0-1.44 This is simulated speech, final speech_final",
			"1.44-2.64 and no model listened. final speech_final",
			"2.64-4.5 final",
			"ended 4.5",
		]);
	});

	it("do not end at a pause when endpointing is off, but after 4.8 s", async () => {
		const { endpointing: _, ...off } = segments();
		expect(await lines(off, audio(silence(4.9)))).toEqual([
			"0-4.8 This is simulated speech, and no model listened. final",
			"4.8-4.9 final speech_final",
			"ended 4.9",
		]);
	});

	it("have interim results, starts of speech and ends of utterances if requested", async () => {
		const rules = { interim_results: true, vad_events: true, utterance_end_ms: 1000 };
		expect(await lines(segments(rules), audio(silence(3.7)))).toEqual([
			"started 0.24",
			"0-0.96 This is simulated",
			"started 1.44",
			"0-1.92 This is simulated speech, and no",
			"0-2.88 This is simulated speech, and no model listened. final speech_final",
			"utterance ended 2.4",
			"2.88-3.7 final",
			"ended 3.7",
		]);
	});

	it("end on demand", async () => {
		const sound = [finalize, audio(silence(0.5)), finalize, finalize, audio(silence(0.1)), finalize];
		expect(await lines(segments(), ...sound)).toEqual([
			"0-0.5 This final speech_final from_finalize",
			"0.5-0.6 final from_finalize",
			"ended 0.6",
		]);
	});
});

describe("a session of the simulator", () => {
	it.each([
		["turns", turns({ eager_eot_threshold: 0.4 })],
		["segments", segments({ interim_results: true, utterance_end_ms: 1000 })],
	])("does not depend on the pieces of the audio: %s", async (_, division) => {
		const sound = silence(5.5);
		const whole = await eventsFor(division, audio(sound));
		await fc.assert(
			fc.asyncProperty(fc.array(fc.nat({ max: sound.length }), { maxLength: 10 }), async (cuts) => {
				const places = [0, ...cuts.sort((a, b) => a - b), sound.length];
				const pieces = places.slice(1).map((to, index) => audio(sound.subarray(places[index], to)));
				expect(await eventsFor(division, ...pieces)).toEqual(whole);
			}),
			{ numRuns: 10 },
		);
	});

	it.each([
		["mulaw at 8 kHz", { encoding: "mulaw", sample_rate: 8_000, channels: 1 }, 8_000],
		["two channels", { encoding: "linear16", sample_rate: RATE, channels: 2 }, 4 * RATE],
	] as const)("measures %s", async (_, described, bytesPerSecond) => {
		const { readable, writable } = await session({ samples: described });
		const events = collect(readable);
		const writer = writable.getWriter();
		await writer.write(audio(new Uint8Array(bytesPerSecond)));
		await writer.close();
		expect((await events).at(-1)).toEqual({ kind: "ended", duration: 1, channels: described.channels });
	});

	it("applies backpressure", async () => {
		const { readable, writable } = await session();
		const writer = writable.getWriter();
		const reader = readable.getReader();
		let isWritten = false;
		const second = writer
			.write(audio(silence(1)))
			.then(() => writer.write(audio(silence(1))).then(() => (isWritten = true)));
		for (let i = 0; i < 3; i++) await reader.read();
		expect(isWritten).toBe(false);
		reader.releaseLock();
		const remainder = collect(readable);
		await second;
		await writer.close();
		expect((await remainder).at(-1)).toEqual({ kind: "ended", duration: 2, channels: 1 });
	});

	it("ends at once when either side is cancelled", async () => {
		const left = await session();
		await left.readable.cancel("left");
		await expect(left.writable.getWriter().write(audio(silence(1)))).rejects.toBe("left");

		const aborted = await session();
		const events = collect(aborted.readable);
		const failed = expect(events).rejects.toBe("aborted");
		await aborted.writable.abort("aborted");
		await failed;
	});

	it.each([
		["no samples", undefined],
		["an encoding that it does not measure", { ...samples, encoding: "opus" } as const],
	])("refuses %s", async (_, described) => {
		const input = { division: turns(), ...(described && { samples: described }) };
		await expect(run("live-transcription", input)).rejects.toMatchObject({
			key: "invalidInput",
			description:
				"Invalid input: the simulator takes raw samples; encoding must be one of linear16, mulaw, with a sample_rate.",
		});
	});
});
