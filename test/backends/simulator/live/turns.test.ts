import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Ear } from "../../../../src/backends/simulator/live/index.ts";
import type {
	ListenCommand,
	TranscriptionEvent,
	Turns,
} from "../../../../src/tasks/live-transcription/types.ts";
import { audio, joined, RATE, silence, tone, turns } from "./audio.ts";

function eventsFor(rules: Partial<Turns>, ...commands: ListenCommand[]): TranscriptionEvent[] {
	const samples = { encoding: "linear16", sample_rate: RATE, channels: 1 } as const;
	const ear = new Ear({ samples, division: turns(rules) });
	return [...commands.flatMap((command) => [...ear.take(command)]), ...ear.end()];
}

type Turn = Extract<TranscriptionEvent, { kind: "turn" }>;
const turnsOf = (events: TranscriptionEvent[]): Turn[] => events.filter((event) => event.kind === "turn");
/** `0 StartOfTurn 0-0.56 [speech 0.1 s]` */
const line = ({ turn_index, event, start, end, transcript }: Turn): string =>
	`${turn_index} ${event} ${start}-${end} ${transcript}`.trim();
const changes = (events: TranscriptionEvent[]): string[] =>
	turnsOf(events)
		.filter(({ event }) => event !== "Update")
		.map(line);

describe("turns", () => {
	it("start with speech, grow, and end with silence", () => {
		const events = eventsFor({}, audio(joined(silence(0.5), tone(1.2), silence(1), tone(0.5), silence(1))));
		expect(turnsOf(events).map(line)).toEqual([
			"0 Update 0-0.24",
			"0 Update 0-0.48",
			"0 StartOfTurn 0-0.56 [speech 0.1 s]",
			"0 Update 0-0.8 [speech 0.3 s]",
			"0 Update 0-1.04 [speech 0.5 s]",
			"0 Update 0-1.28 [speech 0.8 s]",
			"0 Update 0-1.52 [speech 1.0 s]",
			"0 Update 0-1.76 [speech 1.2 s]",
			"0 Update 0-2 [speech 1.2 s]",
			"0 EndOfTurn 0-2.2 [speech 1.2 s]",
			"1 Update 2.2-2.44",
			"1 Update 2.2-2.68",
			"1 StartOfTurn 2.2-2.76 [speech 0.1 s]",
			"1 Update 2.2-3 [speech 0.3 s]",
			"1 Update 2.2-3.24 [speech 0.5 s]",
			"1 Update 2.2-3.48 [speech 0.5 s]",
			"1 EndOfTurn 2.2-3.7 [speech 0.5 s]",
			"2 Update 3.7-3.94",
			"2 Update 3.7-4.18",
			"2 Update 3.7-4.2",
		]);
		expect(events.at(-1)).toEqual({ kind: "ended", duration: 4.2, channels: 1 });
	});

	it("time their words from the first to the last of the speech", () => {
		const end = turnsOf(eventsFor({}, audio(joined(silence(0.5), tone(1.2), silence(1))))).find(
			({ event }) => event === "EndOfTurn",
		);
		expect(end?.words).toEqual([
			{ word: "[speech", start: 0.5, end: 1.149, confidence: 1 },
			{ word: "1.2", start: 1.149, end: 1.466, confidence: 1 },
			{ word: "s]", start: 1.466, end: 1.7, confidence: 1 },
		]);
		expect(end?.end_of_turn_confidence).toBe(0.7135);
	});

	it.each([
		[0.5, 0.78],
		[0.7, 1],
		[0.9, 1.44],
	])("end at eot_threshold %d after the silence for it", (eot_threshold, end) => {
		expect(changes(eventsFor({ eot_threshold }, audio(joined(tone(0.5), silence(2)))))).toEqual([
			"0 StartOfTurn 0-0.06 [speech 0.1 s]",
			`0 EndOfTurn 0-${end} [speech 0.5 s]`,
		]);
	});

	it("end after eot_timeout_ms of silence", () => {
		const rules = { eot_threshold: 0.9, eot_timeout_ms: 500 };
		const sound = joined(tone(0.5), silence(2));
		// However long the pieces are on their way, and whatever the confidence.
		const pieces = Array.from({ length: 250 }, (_, i) => audio(sound.subarray(i * 320, (i + 1) * 320)));
		expect(changes(eventsFor(rules, ...pieces))).toEqual([
			"0 StartOfTurn 0-0.06 [speech 0.1 s]",
			"0 EndOfTurn 0-1 [speech 0.5 s]",
		]);
	});

	it("have eager ends if requested, and resume", () => {
		const sound = audio(joined(tone(1), silence(0.3), tone(0.5), silence(1)));
		expect(changes(eventsFor({ eager_eot_threshold: 0.4 }, sound))).toEqual([
			"0 StartOfTurn 0-0.06 [speech 0.1 s]",
			"0 EagerEndOfTurn 0-1.22 [speech 1.0 s]",
			"0 TurnResumed 0-1.36 [speech 1.1 s]",
			"0 EagerEndOfTurn 0-2.02 [speech 1.5 s]",
			"0 EndOfTurn 0-2.3 [speech 1.5 s]",
		]);
		expect(changes(eventsFor({}, sound))).toEqual([
			"0 StartOfTurn 0-0.06 [speech 0.1 s]",
			"0 EndOfTurn 0-2.3 [speech 1.5 s]",
		]);
	});

	it("do not begin with a click, a hum or a whisper", () => {
		const loud = new Int16Array(tone(0.5).buffer);
		const quiet = new Uint8Array(loud.map((sample) => sample / 100).buffer);
		expect(changes(eventsFor({}, audio(joined(silence(0.1), tone(0.04), silence(0.5), quiet))))).toEqual([]);
	});

	it("end on demand, and the next one follows", () => {
		const finalize: ListenCommand = { kind: "finalize" };
		expect(
			changes(
				eventsFor({}, finalize, audio(tone(0.5)), finalize, finalize, audio(joined(tone(0.3), silence(1)))),
			),
		).toEqual([
			"0 StartOfTurn 0-0.06 [speech 0.1 s]",
			"0 EndOfTurn 0-0.5 [speech 0.5 s]",
			"1 StartOfTurn 0.5-0.52 [speech 0.0 s]",
			"1 EndOfTurn 0.5-1.3 [speech 0.3 s]",
		]);
	});

	it("do not end with the audio", () => {
		const events = eventsFor({}, audio(tone(0.3)));
		expect(turnsOf(events).map(line)).toEqual([
			"0 StartOfTurn 0-0.06 [speech 0.1 s]",
			"0 Update 0-0.3 [speech 0.3 s]",
		]);
	});

	const stretches = fc.array(
		fc.record({ loud: fc.boolean(), seconds: fc.double({ min: 0.01, max: 1.2, noNaN: true }) }),
		{ maxLength: 12 },
	);
	const thresholds = fc.record({
		eot_threshold: fc.double({ min: 0.5, max: 0.9, noNaN: true }),
		eager_eot_threshold: fc.option(fc.double({ min: 0.3, max: 0.5, noNaN: true }), { nil: undefined }),
		eot_timeout_ms: fc.integer({ min: 500, max: 5000 }),
	});

	it("follow Flux's rules for any audio", () => {
		fc.assert(
			fc.property(stretches, thresholds, (parts, { eager_eot_threshold, ...rules }) => {
				const sound = joined(...parts.map(({ loud, seconds }) => (loud ? tone : silence)(seconds)));
				const events = turnsOf(
					eventsFor({ ...rules, ...(eager_eot_threshold && { eager_eot_threshold }) }, audio(sound)),
				);
				let state: "ready" | "speaking" | "awaiting" = "ready";
				let index = 0;
				let end = 0;
				let eager = "";
				for (const { event, turn_index, transcript, words, ...span } of events) {
					expect(turn_index).toBe(index);
					expect(span.end).toBeGreaterThan(end);
					expect(Math.round((span.end - end) * 1000)).toBeLessThanOrEqual(240);
					expect(words.map(({ word }) => word).join(" ")).toBe(transcript);
					expect(transcript === "").toBe(event === "Update" && state === "ready");
					end = span.end;
					switch (event) {
						case "Update":
							if (state === "awaiting") expect(transcript).toBe(eager);
							break;
						case "StartOfTurn":
							expect(state).toBe("ready");
							state = "speaking";
							break;
						case "EagerEndOfTurn":
							expect(state).toBe("speaking");
							expect(eager_eot_threshold).toBeDefined();
							state = "awaiting";
							eager = transcript;
							break;
						case "TurnResumed":
							expect(state).toBe("awaiting");
							state = "speaking";
							break;
						case "EndOfTurn":
							expect(state).not.toBe("ready");
							if (state === "awaiting") expect(transcript).toBe(eager);
							state = "ready";
							index++;
							break;
						default:
							event satisfies never;
					}
				}
			}),
			{ numRuns: 50 },
		);
	});
});
