/** Live transcription without a model: the transcript is a fixed sentence (`script.ts`), whatever the audio has. No clock is used. */
import { AiError } from "../../../core/errors.ts";
import type {
	ListenCommand,
	LiveTranscriptionInput,
	TranscriptionEvent,
} from "../../../tasks/live-transcription/types.ts";
import type { Answer } from "../../../tasks/task.ts";
import { type EventScript, STEP_MS } from "./script.ts";
import { SegmentScript } from "./segments.ts";
import { TurnScript } from "./turns.ts";

/** Bytes of a sample. */
const ENCODINGS = new Map([
	["linear16", 2],
	["mulaw", 1],
]);

/** Throws `invalidInput` for an unsupported encoding. */
export async function liveTranscription({
	samples,
	division,
}: LiveTranscriptionInput): Promise<Answer<"live-transcription">> {
	const sampleBytes = samples && ENCODINGS.get(samples.encoding);
	if (!samples || !sampleBytes)
		throw new AiError(
			"invalidInput",
			`Invalid input: the simulator takes raw samples; encoding must be one of ${[...ENCODINGS.keys()].join(", ")}, with a sample_rate.`,
		);
	const { sample_rate, channels } = samples;
	const script: EventScript =
		division.kind === "turns" ? new TurnScript(division) : new SegmentScript(division);
	let bytes = 0;
	let steps = 0;
	const now = () => Math.floor((bytes * 1000) / (sampleBytes * channels * sample_rate));
	const output = new TransformStream<ListenCommand, TranscriptionEvent>({
		transform(command, controller) {
			if (command.kind === "audio") bytes += command.bytes.length;
			const events = command.kind === "finalize" ? script.finalize(now()) : [];
			while ((steps + 1) * STEP_MS <= now()) events.push(...script.step(++steps * STEP_MS));
			for (const event of events) controller.enqueue(event);
		},
		flush(controller) {
			for (const event of script.end(now())) controller.enqueue(event);
			controller.enqueue({ kind: "ended", duration: now() / 1000, channels });
		},
	});
	return { kind: "value", output };
}
