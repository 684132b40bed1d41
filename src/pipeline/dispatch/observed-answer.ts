/** Reports the first token and the end of an answer to the pool of its replica. */
import type { Usage } from "../../core/usage.ts";
import type { Flight, FlightUsage } from "../../pools/flight.ts";
import { ObservedSource, type StreamListener } from "../../streams/observed-source.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";
import { type EventPiece, EventStream } from "../../streams/sse.ts";
import type { Answer, TaskCall } from "../../tasks/task.ts";
import { definitionOf, isSession } from "../../tasks/traits.ts";

/** Takes over the answer. A live session has no end here: the owner of the flight ends it with the request. */
export function observeAnswer(answer: Answer, call: TaskCall, flight: Flight, now: () => number): Answer {
	if (answer.kind === "value") {
		if (!isSession(call)) flight.end(now(), flightUsage(definitionOf(call).discardedUsage?.(answer.output)));
		return answer;
	}
	if (answer.kind === "outputs") {
		const source = new ObservedSource(
			PulledStream.sourceOf(answer.outputs),
			flightListener(flight, now, { isOutput: () => true }),
		);
		return { ...answer, outputs: new PulledStream(source) };
	}
	const { ended, events, progress } = answer;
	if (ended) {
		void ended.then((failure) => flight.end(now(), failure ? undefined : flightUsage(progress.usage)));
		return answer;
	}
	const listener = flightListener<EventPiece>(flight, now, {
		isOutput: (piece) => piece.events.some((event) => "data" in event),
		usage: () => flightUsage(progress.usage),
	});
	return { ...answer, events: new EventStream(new ObservedSource(EventStream.eventsOf(events), listener)) };
}

export function flightUsage(usage: Usage | undefined): FlightUsage | undefined {
	if (!usage) return undefined;
	const { prompt_tokens, completion_tokens, prompt_tokens_details } = usage;
	const cachedTokens = prompt_tokens_details?.cached_tokens;
	return {
		inputTokens: prompt_tokens,
		outputTokens: completion_tokens,
		...(typeof cachedTokens === "number" && { cachedTokens }),
	};
}

interface Observation<Piece> {
	/** Whether the piece is the first part of an answer. */
	isOutput(piece: Piece): boolean;
	/** What the engine has counted at the end. */
	usage?(): FlightUsage | undefined;
}

function flightListener<Piece>(
	flight: Flight,
	now: () => number,
	{ isOutput, usage }: Observation<Piece>,
): StreamListener<Piece> {
	let hasStarted = false;
	return {
		pass(piece) {
			if (!hasStarted && isOutput(piece)) {
				hasStarted = true;
				flight.firstToken(now());
			}
			return piece;
		},
		end: ({ kind }) => flight.end(now(), kind === "complete" ? usage?.() : undefined),
	};
}
