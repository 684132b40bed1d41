/**
 * Usage of an answer of two engines. The decode engine reports the transferred prompt as cached, so the counts of the prompt are
 * those of the prefill engine. The output is counted by the decode engine alone, which also counts the token that the prefill
 * engine generated.
 */
import { isRecord } from "../../../core/json.ts";
import { type Usage, usageOf } from "../../../core/usage.ts";
import type { Source } from "../../../streams/pulled-stream.ts";
import { type EventPiece, EventStream, type StreamEvent, textOf } from "../../../streams/sse.ts";
import type { Progress } from "../../../tasks/task.ts";

/** `prefill` is absent if that engine did not report its counts: then the number of cached tokens is unknown. */
export function combinedUsage(decode: Usage, prefill: Usage | undefined): Usage {
	const prompt_tokens = prefill?.prompt_tokens || decode.prompt_tokens;
	const { cached_tokens: _, ...details } = decode.prompt_tokens_details ?? {};
	const cached = prefill?.prompt_tokens_details?.cached_tokens;
	const isKnown = typeof cached === "number";
	const hasDetails = isKnown || Object.keys(details).length > 0;
	return {
		...decode,
		prompt_tokens,
		total_tokens: prompt_tokens + decode.completion_tokens,
		...((isKnown || decode.prompt_tokens_details !== undefined) && {
			prompt_tokens_details: hasDetails ? { ...details, ...(isKnown && { cached_tokens: cached }) } : null,
		}),
	};
}

/** The counts of a prefill engine, which may arrive after the answer has started. */
export interface PrefillUsage {
	/** As far as it has arrived. */
	readonly latest: Usage | undefined;
	/** Resolves with the counts, or with nothing if they do not arrive in time. */
	arrived(): Promise<Usage | undefined>;
}

export interface StreamedReply {
	kind: "stream";
	events: ReadableStream<Uint8Array>;
	progress: Progress;
}

/** Takes over the stream, and replaces the usage in its events. */
export function withPrefillUsage({ events, progress }: StreamedReply, prefill: PrefillUsage): StreamedReply {
	const source = EventStream.eventsOf(events);
	const rewrite = (piece: EventPiece | undefined) =>
		piece?.events.some(hasUsage)
			? prefill.arrived().then((usage) => pieceOf(piece.events.map((event) => replaceUsage(event, usage))))
			: piece;
	const combined: Source<EventPiece> = {
		pull: () => source.pull().then(rewrite),
		cancel: (reason) => source.cancel(reason),
	};
	return {
		kind: "stream",
		events: new EventStream(combined),
		progress: {
			get usage() {
				return progress.usage && combinedUsage(progress.usage, prefill.latest);
			},
			get outputTokens() {
				return progress.outputTokens;
			},
		},
	};
}

const ENCODER = new TextEncoder();

const pieceOf = (events: readonly StreamEvent[]): EventPiece => ({
	bytes: ENCODER.encode(events.map(textOf).join("")),
	events,
});

const sentUsage = (event: StreamEvent): Usage | undefined =>
	"data" in event && isRecord(event.value) ? usageOf(event.value.usage) : undefined;
const hasUsage = (event: StreamEvent): boolean => sentUsage(event) !== undefined;

function replaceUsage(event: StreamEvent, prefill: Usage | undefined): StreamEvent {
	const sent = sentUsage(event);
	if (!sent || !("data" in event) || !isRecord(event.value)) return event;
	const value = { ...event.value, usage: combinedUsage(sent, prefill) };
	return { data: JSON.stringify(value), value };
}
