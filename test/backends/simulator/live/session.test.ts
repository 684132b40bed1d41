import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Ear } from "../../../../src/backends/simulator/live/index.ts";
import type {
	LiveTranscription,
	LiveTranscriptionInput,
	TranscriptionEvent,
} from "../../../../src/tasks/live-transcription/types.ts";
import { run } from "../fixture.ts";
import { audio, joined, RATE, segments, silence, tone, turns } from "./audio.ts";

const samples = { encoding: "linear16", sample_rate: RATE, channels: 1 } as const;
const session = (input: Partial<LiveTranscriptionInput> = {}): Promise<LiveTranscription> =>
	run("live-transcription", { samples, division: turns({ eager_eot_threshold: 0.4 }), ...input });

async function collect(readable: ReadableStream<TranscriptionEvent>): Promise<TranscriptionEvent[]> {
	const events: TranscriptionEvent[] = [];
	for await (const event of readable) events.push(event);
	return events;
}

describe("a session of the simulator", () => {
	it("does not depend on the pieces of the audio", async () => {
		const sound = joined(silence(0.3), tone(0.7), silence(0.3), tone(0.2), silence(0.8));
		for (const division of [turns({ eager_eot_threshold: 0.4 }), segments({ interim_results: true })]) {
			const ear = new Ear({ samples, division });
			const whole = [...ear.take(audio(sound)), ...ear.end()];
			await fc.assert(
				fc.asyncProperty(fc.array(fc.nat({ max: sound.length }), { maxLength: 10 }), async (cuts) => {
					const { readable, writable } = await session({ division });
					const events = collect(readable);
					const writer = writable.getWriter();
					const places = [0, ...cuts.sort((a, b) => a - b), sound.length];
					for (const [i, to] of places.slice(1).entries())
						await writer.write(audio(sound.subarray(places[i], to)));
					await writer.close();
					expect(await events).toEqual(whole);
				}),
				{ numRuns: 20 },
			);
		}
	});

	it("applies backpressure", async () => {
		const { readable, writable } = await session();
		const writer = writable.getWriter();
		const reader = readable.getReader();
		let heard = false;
		const second = writer
			.write(audio(tone(1)))
			.then(() => writer.write(audio(tone(1))).then(() => (heard = true)));
		for (let i = 0; i < 3; i++) await reader.read();
		expect(heard).toBe(false);
		reader.releaseLock();
		const rest = collect(readable);
		await second;
		await writer.close();
		expect((await rest).at(-1)).toEqual({ kind: "ended", duration: 2, channels: 1 });
	});

	it("ends at once when either side is cancelled", async () => {
		const left = await session();
		await left.readable.cancel("left");
		await expect(left.writable.getWriter().write(audio(tone(1)))).rejects.toBe("left");

		const aborted = await session();
		const events = collect(aborted.readable);
		const failed = expect(events).rejects.toBe("aborted");
		await aborted.writable.abort("aborted");
		await failed;
	});

	it.each([
		["no samples", undefined],
		["an encoding that it has no decoder for", { ...samples, encoding: "opus" } as const],
	])("refuses %s", async (_, sent) => {
		const input = { division: turns(), ...(sent && { samples: sent }) };
		await expect(run("live-transcription", input)).rejects.toMatchObject({
			key: "invalidInput",
			description:
				"Invalid input: the simulator hears raw samples; encoding must be one of linear16, mulaw, with a sample_rate.",
		});
	});
});
