/**
 * Makes the usage of a chat's stream equal to the billed one. Counts that cannot be true, and those that the engine did not send, are
 * replaced by our own. If the engine sends no usage, a usage chunk with our own count is added before the end.
 */
import { isRecord, parseJson } from "../core/json.ts";
import { isCounted, type Usage, usageOf } from "../core/usage.ts";
import { isFullyCounted, toUsage } from "../counting/quantities.ts";
import type { Model } from "../models/model.ts";
import { DeltaEvent } from "../streams/delta-event.ts";
import { type EventPiece, isDone, type StreamEvent, textOf } from "../streams/sse.ts";
import type { Progress, TaskCall } from "../tasks/task.ts";
import { measureStream, plausibleUsage } from "../tasks/traits.ts";

/** Finds events with usage without parsing all of them. */
const HAS_USAGE = /"usage"\s*:\s*\{/;

const NO_TOKENS: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

type DataEvent = Exclude<StreamEvent, { comment: string }>;

interface UsageFrames {
	/** Returns the events to send. */
	pass(piece: EventPiece): EventPiece;
	/** No event so far was changed or added. */
	isUnchanged(): boolean;
}

export function usageFrames(call: TaskCall, model: Model, progress: Progress): UsageFrames {
	let counted = false;
	let isUnchanged = true;
	let latest: DataEvent | undefined;

	const bounded = (event: DataEvent): DataEvent => {
		if (event.value === undefined && !HAS_USAGE.test(event.data)) return event;
		const chunk = chunkIn(event);
		if (!chunk || !isRecord(chunk.usage)) return event;
		const read = usageOf(chunk.usage);
		const sent = plausibleUsage(read ?? NO_TOKENS, call, model);
		const usage = isRunning(chunk)
			? running(sent, read)
			: isFullyCounted(sent)
				? sent
				: toUsage(measured(), sent);
		counted ||= isCounted(usage);
		return usage && isAsSent(chunk.usage, usage) ? event : eventOf({ ...chunk, usage });
	};
	const measured = () => measureStream(call, progress, model);
	let ownPrompt: number | undefined;
	/** The counts while the answer goes on: the engine may have counted no token of it. `null`: it has counted nothing. */
	const running = (sent: Usage, read: Usage | undefined): Usage | null => {
		if (!read) return null;
		if (sent.prompt_tokens > 0 || sent.completion_tokens === 0) return sent;
		ownPrompt ??= toUsage(measured()).prompt_tokens;
		return { ...sent, prompt_tokens: ownPrompt, total_tokens: ownPrompt + sent.completion_tokens };
	};
	const own = (last: DataEvent): DataEvent => {
		const { id, created, model: name } = chunkIn(last) ?? {};
		const usage = toUsage(measured());
		return eventOf({ id, object: "chat.completion.chunk", created, model: name, choices: [], usage });
	};
	const pass = (piece: EventPiece): EventPiece => {
		let changed = false;
		const events: StreamEvent[] = [];
		for (const event of piece.events) {
			if (event instanceof DeltaEvent) latest = event;
			// None of these has a usage.
			if (event instanceof DeltaEvent || "comment" in event) {
				events.push(event);
				continue;
			}
			const isEnd = isDone(event.data);
			if (isEnd && !counted && latest) {
				events.push(own(latest));
				changed = true;
			}
			const next = isEnd ? event : bounded(event);
			latest = next;
			changed ||= next !== event;
			events.push(next);
		}
		if (!changed) return piece;
		isUnchanged = false;
		return pieceOf(events);
	};
	return { pass, isUnchanged: () => isUnchanged };
}

function chunkIn(event: DataEvent): Record<string, unknown> | undefined {
	const value = event.value ?? parseJson(event.data);
	return isRecord(value) ? value : undefined;
}

/** Whether the chunk is a part of an answer that has not finished. */
const isRunning = ({ choices }: Record<string, unknown>): boolean =>
	Array.isArray(choices) && choices.some((choice) => isRecord(choice) && !choice.finish_reason);

/** Whether the counts are the numbers that the engine sent. */
function isAsSent(sent: unknown, usage: object): boolean {
	if (!isRecord(sent)) return false;
	for (const [name, value] of Object.entries(usage))
		if (sent[name] !== value && !(isRecord(value) && isAsSent(sent[name], value))) return false;
	return true;
}

const eventOf = (value: object): DataEvent => ({ data: JSON.stringify(value), value });

const pieceOf = (events: readonly StreamEvent[]): EventPiece => ({
	events,
	get bytes() {
		return new TextEncoder().encode(events.map(textOf).join(""));
	},
});
