/** Reports the first token and the end of an answer to the pool of its replica. */
import type { Usage } from "../../core/usage.ts";
import type { Flight, FlightUsage } from "../../pools/flight.ts";
import type { Source } from "../../streams/pulled-stream.ts";
import { type EventPiece, EventStream } from "../../streams/sse.ts";
import type { Answer, Progress, TaskCall } from "../../tasks/task.ts";
import { discardedUsage, isSession } from "../../tasks/traits.ts";

/** Takes over the answer. A live session has no end here: the owner of the flight ends it with the request. */
export function observeAnswer(answer: Answer, call: TaskCall, flight: Flight, now: () => number): Answer {
	if (answer.kind === "value") {
		if (!isSession(call)) flight.end(now(), flightUsage(discardedUsage(call, answer.output)));
		return answer;
	}
	const { ended, events, progress } = answer;
	if (ended) {
		void ended.then((failure) => flight.end(now(), failure ? undefined : flightUsage(progress.usage)));
		return answer;
	}
	const source = new ObservedSource(EventStream.eventsOf(events), progress, flight, now);
	return { ...answer, events: new EventStream(source) };
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

class ObservedSource implements Source<EventPiece> {
	readonly #source: Source<EventPiece>;
	readonly #progress: Progress;
	readonly #flight: Flight;
	readonly #now: () => number;
	#hasStarted = false;

	constructor(source: Source<EventPiece>, progress: Progress, flight: Flight, now: () => number) {
		this.#source = source;
		this.#progress = progress;
		this.#flight = flight;
		this.#now = now;
	}

	pull(): Promise<EventPiece | undefined> {
		return this.#source.pull().then(this.#pass, this.#fail);
	}

	cancel(reason: unknown): Promise<void> {
		this.#flight.end(this.#now());
		return this.#source.cancel(reason);
	}

	readonly #pass = (piece: EventPiece | undefined): EventPiece | undefined => {
		if (!piece) this.#flight.end(this.#now(), flightUsage(this.#progress.usage));
		else if (!this.#hasStarted && piece.events.some((event) => "data" in event)) {
			this.#hasStarted = true;
			this.#flight.firstToken(this.#now());
		}
		return piece;
	};

	readonly #fail = (error: unknown): never => {
		this.#flight.end(this.#now());
		throw error;
	};
}
