/**
 * The engines whose chat streams need no change: the last stream that the gateway read reached its caller as the engine sent
 * it, with its usage. The next streams of this engine for the same model can pass through unread (`stream-mode.ts`).
 *
 * An engine can restart with another name of its model, or without usage. So the gateway reads one stream a minute again.
 */
import { BoundedMap } from "../core/bounded-map.ts";
import { hasPassed } from "../core/elapsed.ts";

const RECHECK_MS = 60_000;
/** Callers can invent model names, so the table is cleared when it is full. */
const MAX_ENGINES = 1_000;

/** The engine and the model of a stream. */
interface StreamSource {
	backend: string;
	/** The engine's name of the model. */
	engineModel: string;
	/** The catalogue's name of the model. */
	model: string;
}

/** What was observed in a complete stream. */
interface ObservedStream {
	isUnchanged: boolean;
	/** The most tool calls of one answer. Engines deviate there from OpenAI's format most often. */
	toolCalls: number;
}

interface Engine {
	/** When a stream was read last, or was chosen for that. */
	checkedAt: number;
	toolCalls: number;
}

/**
 * Calls that an engine has sent in one answer without a fault, before its streams with tools pass. Some engines send one call
 * correctly, and several calls with the same index.
 */
const PROVEN_TOOL_CALLS = 2;

export class UnchangedStreams {
	readonly #now: () => number;
	readonly #engines = new BoundedMap<string, Engine>(MAX_ENGINES);

	constructor({ now }: { now: () => number }) {
		this.#now = now;
	}

	record(source: StreamSource, { isUnchanged, toolCalls }: ObservedStream): void {
		const key = keyOf(source);
		const known = this.#engines.get(key);
		if (!isUnchanged) {
			this.#engines.delete(key);
			return;
		}
		this.#engines.set(key, {
			checkedAt: this.#now(),
			toolCalls: Math.max(toolCalls, known?.toolCalls ?? 0),
		});
	}

	/** `offersTools`: the stream can have tool calls, so an earlier one must have had {@link PROVEN_TOOL_CALLS}. */
	has(source: StreamSource, offersTools: boolean): boolean {
		const engine = this.#engines.get(keyOf(source));
		return engine !== undefined && (engine.toolCalls >= PROVEN_TOOL_CALLS || !offersTools);
	}

	/** Whether a stream that starts now can pass through. One stream a minute cannot, because it is read again. */
	canPass(source: StreamSource, offersTools: boolean): boolean {
		const engine = this.#engines.get(keyOf(source));
		if (!engine || !this.has(source, offersTools)) return false;
		const now = this.#now();
		if (!hasPassed(RECHECK_MS, engine.checkedAt, now)) return true;
		engine.checkedAt = now;
		return false;
	}
}

const keyOf = ({ backend, engineModel, model }: StreamSource): string =>
	JSON.stringify([backend, engineModel, model]);
