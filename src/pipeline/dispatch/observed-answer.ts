/** Reports the first token and the end of an answer to the pool of its replica. */
import type { Usage } from "../../core/usage.ts";
import type { Flight, FlightUsage } from "../../pools/flight.ts";
import { PulledStream, type Source } from "../../streams/pulled-stream.ts";
import { EventStream } from "../../streams/sse.ts";
import type { Answer, TaskCall } from "../../tasks/task.ts";
import { discardedUsage, isSession } from "../../tasks/traits.ts";

/** Takes over the answer. A live session has no end here: the owner of the flight ends it with the request. */
export function observeAnswer(answer: Answer, call: TaskCall, flight: Flight, now: () => number): Answer {
	if (answer.kind === "value") {
		if (!isSession(call)) flight.end(now(), flightUsage(discardedUsage(call, answer.output)));
		return answer;
	}
	if (answer.kind === "outputs") {
		const source = new ObservedSource(PulledStream.sourceOf(answer.outputs), flight, now, {
			isOutput: () => true,
		});
		return { ...answer, outputs: new PulledStream(source) };
	}
	const { ended, events, progress } = answer;
	if (ended) {
		void ended.then((failure) => flight.end(now(), failure ? undefined : flightUsage(progress.usage)));
		return answer;
	}
	const source = new ObservedSource(EventStream.eventsOf(events), flight, now, {
		isOutput: (piece) => piece.events.some((event) => "data" in event),
		usage: () => flightUsage(progress.usage),
	});
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

interface Observation<Piece> {
	/** Whether the piece is the first part of an answer. */
	isOutput(piece: Piece): boolean;
	/** What the engine has counted at the end. */
	usage?(): FlightUsage | undefined;
}

class ObservedSource<Piece> implements Source<Piece> {
	readonly #source: Source<Piece>;
	readonly #flight: Flight;
	readonly #now: () => number;
	readonly #observation: Observation<Piece>;
	#hasStarted = false;

	constructor(source: Source<Piece>, flight: Flight, now: () => number, observation: Observation<Piece>) {
		this.#source = source;
		this.#flight = flight;
		this.#now = now;
		this.#observation = observation;
	}

	pull(): Promise<Piece | undefined> {
		return this.#source.pull().then(this.#pass, this.#fail);
	}

	cancel(reason: unknown): Promise<void> {
		this.#flight.end(this.#now());
		return this.#source.cancel(reason);
	}

	readonly #pass = (piece: Piece | undefined): Piece | undefined => {
		if (!piece) this.#flight.end(this.#now(), this.#observation.usage?.());
		else if (!this.#hasStarted && this.#observation.isOutput(piece)) {
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
