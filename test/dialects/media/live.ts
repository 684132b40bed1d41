/** A session whose events the test determines, and the frames that a dialect writes for it. */
import type { Dialect, Rendered, SocketFrames } from "../../../src/dialects/dialect.ts";
import type {
	ListenCommand,
	LiveTranscription,
	TranscriptionEvent,
	TurnEvent,
} from "../../../src/tasks/live-transcription/types.ts";
import { productModel, read } from "../read-write.ts";

export interface TestSession extends LiveTranscription {
	/** The commands of the dialect. */
	commands: (ListenCommand | "end" | { aborted: unknown })[];
	emit(...events: TranscriptionEvent[]): void;
	finish(): void;
	fail(error: unknown): void;
	/** The reason of the cancellation. */
	cancelled: unknown[];
}

export function testSession(): TestSession {
	const commands: TestSession["commands"] = [];
	const cancelled: unknown[] = [];
	let control!: ReadableStreamDefaultController<TranscriptionEvent>;
	const readable = new ReadableStream<TranscriptionEvent>({
		start: (controller) => {
			control = controller;
		},
		cancel: (reason) => void cancelled.push(reason),
	});
	const writable = new WritableStream<ListenCommand>({
		write: (command) => void commands.push(command),
		close: () => void commands.push("end"),
		abort: (reason) => {
			commands.push({ aborted: reason });
			control.error(reason);
		},
	});
	return {
		commands,
		cancelled,
		readable,
		writable,
		emit: (...events) => {
			for (const event of events) control.enqueue(event);
		},
		finish: () => control.close(),
		fail: (error) => control.error(error),
	};
}

export function framesFor(
	{ reader, writer }: Dialect,
	model: string,
	inputs: object,
	session: LiveTranscription,
): SocketFrames {
	const rendered: Rendered = writer.write(
		{ task: "live-transcription", answer: { kind: "value", output: session } },
		{
			...read(reader, productModel(model), inputs),
			now: Date.UTC(2026, 10, 21, 12),
			withCost: (usage) => usage,
			requestId: "request",
			uuid: () => "uuid",
		},
	);
	if (rendered.kind !== "socket") throw new Error(`rendered as ${rendered.kind}`);
	return rendered.frames;
}

export async function collect(readable: ReadableStream<string>): Promise<unknown[]> {
	const frames: unknown[] = [];
	for await (const frame of readable) frames.push(JSON.parse(frame));
	return frames;
}

export const turn = (
	event: TurnEvent,
	transcript: string,
	fields: Partial<TurnOf<TranscriptionEvent>> = {},
): TranscriptionEvent => ({
	kind: "turn",
	event,
	turn_index: 0,
	start: 0,
	end: 1.2,
	transcript,
	words: transcript
		.split(" ")
		.filter(Boolean)
		.map((word, i) => ({ word, start: i / 10, end: (i + 1) / 10, confidence: 0.9 })),
	end_of_turn_confidence: 0.25,
	...fields,
});

type TurnOf<Event> = Extract<Event, { kind: "turn" }>;
