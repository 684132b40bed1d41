/**
 * Makes the usage of a chat's stream equal to the billed one. Counts that cannot be true are
 * replaced by our own. If the engine sends no counts, a usage chunk with our own count is added before the end.
 */
import { isRecord, parseJson } from "../core/json.ts";
import { isCounted, usageOf } from "../core/usage.ts";
import { toUsage } from "../counting/quantities.ts";
import type { Model } from "../models/model.ts";
import { DeltaEvent } from "../streams/delta-event.ts";
import type { Source } from "../streams/pulled-stream.ts";
import { type EventPiece, isDone, type StreamEvent, textOf } from "../streams/sse.ts";
import type { Progress, TaskCall } from "../tasks/task.ts";
import { measureStream, plausibleUsage } from "../tasks/traits.ts";

/** Finds events with usage without parsing all of them. */
const HAS_USAGE = /"usage"\s*:\s*\{/;

/** Takes over `from`, the events of a chat's stream. `isUnchanged`: no event so far was changed or added. */
export function withUsage(
	from: Source<EventPiece>,
	call: TaskCall,
	model: Model,
	progress: Progress,
): Source<EventPiece> & { isUnchanged(): boolean } {
	let counted = false;
	let isUnchanged = true;
	let latest: StreamEvent | undefined;

	const chunkIn = (event: StreamEvent): Record<string, unknown> | undefined => {
		if ("comment" in event) return undefined;
		const value = event.value ?? parseJson(event.data);
		return isRecord(value) ? value : undefined;
	};
	const bounded = (event: StreamEvent): StreamEvent => {
		if ("comment" in event) return event;
		if (event.value === undefined && !HAS_USAGE.test(event.data)) return event;
		const chunk = chunkIn(event);
		const sent = chunk && usageOf(chunk.usage);
		if (!sent) return event;
		counted ||= isCounted(sent);
		const usage = plausibleUsage(sent, call, model) ?? toUsage(measureStream(call, progress, model));
		if (usage === sent && isAsSent(chunk.usage, usage)) return event;
		return eventOf({ ...chunk, usage });
	};
	const own = (): StreamEvent => {
		const { id, created, model: name } = (latest && chunkIn(latest)) ?? {};
		const usage = toUsage(measureStream(call, progress, model));
		return eventOf({ id, object: "chat.completion.chunk", created, model: name, choices: [], usage });
	};
	const pass = (piece: EventPiece | undefined): EventPiece | undefined => {
		if (!piece) return undefined;
		let changed = false;
		const events: StreamEvent[] = [];
		for (const event of piece.events) {
			if (event instanceof DeltaEvent) {
				// Has no usage.
				latest = event;
				events.push(event);
				continue;
			}
			const isEnd = !("comment" in event) && isDone(event.data);
			if (isEnd && !counted && latest) {
				events.push(own());
				changed = true;
			}
			const next = isEnd ? event : bounded(event);
			if (!("comment" in event)) latest = next;
			changed ||= next !== event;
			events.push(next);
		}
		if (!changed) return piece;
		isUnchanged = false;
		return pieceOf(events);
	};
	return {
		pull: () => from.pull().then(pass),
		cancel: (reason) => from.cancel(reason),
		isUnchanged: () => isUnchanged,
	};
}

/** Whether the counts are the numbers that the engine sent. */
const isAsSent = (sent: unknown, usage: object): boolean =>
	isRecord(sent) &&
	Object.entries(usage).every(
		([name, value]) => sent[name] === value || (isRecord(value) && isAsSent(sent[name], value)),
	);

const eventOf = (value: object): StreamEvent => ({ data: JSON.stringify(value), value });

const pieceOf = (events: readonly StreamEvent[]): EventPiece => ({
	events,
	get bytes() {
		return new TextEncoder().encode(events.map(textOf).join(""));
	},
});
