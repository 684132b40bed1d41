/**
 * Runs the work of an RPC call in a context of its own.
 *
 * The runtime does not tell a method that its caller has left: it ends the context of the call, unless something has registered with
 * `waitUntil`, as nearly all work does. So the context of the call only waits. The work runs in the context of the entrypoint `Calls`, which
 * holds a stub of the first one: when that context ends, a call of the stub fails.
 *
 * The work is a closure, because both contexts are in one isolate. It must not use a stream, a socket or a stub of the first context: those are
 * read there, and the work awaits the result.
 */
import { exports, RpcTarget, WorkerEntrypoint } from "cloudflare:workers";

/** `left`: fires when the caller leaves. */
type CallWork = (left: AbortSignal) => Promise<unknown>;

interface Waiting {
	/** Resolves when the call has its result. Rejects when its context has ended. */
	ended(): Promise<void>;
}

/** The runtime prints what a method throws, so a failure is a value between the two contexts. */
type Result = { value: unknown } | { failure: unknown };

interface CallsStub {
	run(id: string, waiting: Waiting): Promise<Result>;
}

/** By id, until they begin. */
const works = new Map<string, CallWork>();

class WaitingCall extends RpcTarget implements Waiting {
	readonly #result: Promise<void>;

	constructor(result: Promise<void>) {
		super();
		this.#result = result;
	}

	ended(): Promise<void> {
		return this.#result;
	}
}

/** The entrypoint `Calls`. Only {@link inOwnContext} calls it. */
export class CallsEntrypoint extends WorkerEntrypoint {
	async run(id: string, waiting: Waiting): Promise<Result> {
		const work = works.get(id);
		works.delete(id);
		if (!work) throw new Error("The work of the call is in another isolate");
		const left = new AbortController();
		let hasEnded = false;
		// The stub is disposed at the end, too.
		waiting.ended().catch(() => hasEnded || left.abort());
		try {
			return { value: await work(left.signal) };
		} catch (failure) {
			return { failure };
		} finally {
			hasEnded = true;
		}
	}
}

/** Resolves with what the work returns, as RPC transfers it. */
export async function inOwnContext<Value>(work: (left: AbortSignal) => Promise<Value>): Promise<Value> {
	const id = crypto.randomUUID();
	works.set(id, work);
	// Of a promise that nothing can resolve, the runtime makes a failure when it collects garbage.
	const ending = Promise.withResolvers<void>();
	const { Calls } = exports as unknown as { Calls: CallsStub };
	try {
		const result = await Calls.run(id, new WaitingCall(ending.promise));
		if ("failure" in result) throw result.failure;
		return result.value as Value;
	} finally {
		works.delete(id);
		ending.resolve();
	}
}
