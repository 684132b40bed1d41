import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Ear } from "../../../../src/backends/simulator/live/index.ts";
import type {
	ListenCommand,
	Segments,
	TranscriptionEvent,
} from "../../../../src/tasks/live-transcription/types.ts";
import { audio, joined, RATE, segments, silence, tone } from "./audio.ts";

function eventsFor(rules: Partial<Segments>, ...commands: ListenCommand[]): TranscriptionEvent[] {
	const samples = { encoding: "linear16", sample_rate: RATE, channels: 1 } as const;
	const ear = new Ear({ samples, division: { ...segments(), ...rules } });
	return [...commands.flatMap((command) => [...ear.take(command)]), ...ear.end()];
}

function line(event: TranscriptionEvent): string {
	switch (event.kind) {
		case "segment": {
			const { start, end, transcript, is_final, speech_final, from_finalize } = event;
			const marks = [is_final && "final", speech_final && "speech_final", from_finalize && "from_finalize"];
			return [`${start}-${end}`, transcript, ...marks].filter(Boolean).join(" ");
		}
		case "speech-started":
			return `started ${event.timestamp}`;
		case "utterance-end":
			return `utterance ended ${event.last_word_end}`;
		case "ended":
			return `ended ${event.duration}`;
		case "turn":
			return "turn";
		default:
			return event satisfies never;
	}
}
const lines = (rules: Partial<Segments>, ...commands: ListenCommand[]): string[] =>
	eventsFor(rules, ...commands).map(line);

const SOUND = audio(joined(silence(0.5), tone(1.2), silence(0.8), tone(0.5), silence(1.5)));
const finalize: ListenCommand = { kind: "finalize" };

describe("segments", () => {
	it("end at the pauses that endpointing makes", () => {
		expect(lines({}, SOUND)).toEqual([
			"0-2 [speech 1.2 s] final speech_final",
			"2-3.3 [speech 0.5 s] final speech_final",
			"3.3-4.5 final",
			"ended 4.5",
		]);
		// 10 ms, the usual one, is less than what a gap inside a word takes.
		expect(lines({ endpointing: 10 }, SOUND)[0]).toBe("0-1.8 [speech 1.2 s] final speech_final");
	});

	it("do not end at a pause when endpointing is off", () => {
		const { endpointing: _, ...off } = segments();
		const samples = { encoding: "linear16", sample_rate: RATE, channels: 1 } as const;
		const ear = new Ear({ samples, division: off });
		const events = [...ear.take(SOUND), ...ear.end()];
		expect(events.map(line)).toEqual(["0-4.5 [speech 1.7 s] final speech_final", "ended 4.5"]);
	});

	it("have interim results every second if requested", () => {
		expect(lines({ interim_results: true }, audio(joined(tone(2.5), silence(0.5))))).toEqual([
			"0-1 [speech 1.0 s]",
			"0-2 [speech 2.0 s]",
			"0-2.8 [speech 2.5 s] final speech_final",
			"2.8-3 final",
			"ended 3",
		]);
	});

	it("end after five seconds; the pause then belongs to the next one", () => {
		expect(lines({}, audio(joined(tone(7), silence(0.5))))).toEqual([
			"0-5 [speech 5.0 s] final",
			"5-7.3 [speech 2.0 s] final speech_final",
			"7.3-7.5 final",
			"ended 7.5",
		]);
		expect(lines({}, audio(joined(tone(4.9), silence(0.5))))).toEqual([
			"0-5 [speech 4.9 s] final",
			"5-5.2 final speech_final",
			"5.2-5.4 final",
			"ended 5.4",
		]);
	});

	it("have one event for the start of speech and one for the end of an utterance", () => {
		expect(lines({ vad_events: true, utterance_end_ms: 1000 }, SOUND, audio(silence(3)))).toEqual([
			"started 0.5",
			"0-2 [speech 1.2 s] final speech_final",
			"started 2.5",
			"2-3.3 [speech 0.5 s] final speech_final",
			"utterance ended 3",
			"3.3-7.5 final",
			"ended 7.5",
		]);
	});

	it("end on demand", () => {
		expect(lines({}, finalize, audio(tone(0.5)), finalize, finalize, audio(silence(0.5)), finalize)).toEqual([
			"0-0.5 [speech 0.5 s] final speech_final from_finalize",
			"0.5-1 final from_finalize",
			"ended 1",
		]);
	});

	it("cover all audio in order", () => {
		const stretches = fc.array(
			fc.record({ loud: fc.boolean(), seconds: fc.double({ min: 0.01, max: 3, noNaN: true }) }),
			{ maxLength: 10 },
		);
		const rules = fc.record({
			interim_results: fc.boolean(),
			endpointing: fc.integer({ min: 0, max: 1500 }),
			utterance_end_ms: fc.integer({ min: 0, max: 2000 }),
		});
		fc.assert(
			fc.property(stretches, rules, (parts, chosen) => {
				const sound = joined(...parts.map(({ loud, seconds }) => (loud ? tone : silence)(seconds)));
				const events = eventsFor(chosen, audio(sound));
				let at = 0;
				let unsaid = false;
				for (const event of events) {
					if (event.kind === "utterance-end") {
						expect(unsaid, "an utterance ended without words").toBe(true);
						unsaid = false;
					}
					if (event.kind !== "segment") continue;
					expect(event.start).toBe(at);
					expect(event.end).toBeGreaterThan(at);
					expect(event.words.map(({ word }) => word).join(" ")).toBe(event.transcript);
					for (const { start, end } of event.words) {
						expect(start).toBeGreaterThanOrEqual(event.start);
						expect(end).toBeLessThanOrEqual(event.end);
					}
					if (!event.is_final) continue;
					at = event.end;
					unsaid ||= event.transcript !== "";
				}
				expect(events.at(-1)?.kind).toBe("ended");
				expect(at).toBeCloseTo(Math.floor((sound.length / 2 / RATE) * 50 + 1e-9) / 50, 5);
			}),
			{ numRuns: 50 },
		);
	});
});
