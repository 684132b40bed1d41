/** An isolate's client of the streams that can be resumed. */
import type { RunOwner, StreamRun } from "../durable/stream-run.ts";

const RUN_ID = /^[0-9a-f]{64}$/;

type StreamRunCalls = Pick<DurableObjectStub<StreamRun>, "begin" | "append" | "finish" | "discard">;
type StreamRunNamespace = Pick<DurableObjectNamespace<StreamRun>, "newUniqueId" | "idFromString" | "get">;

export interface NewRun {
	/** `cf-aig-run-id`: 64 hexadecimal digits. */
	id: string;
	/** A stub belongs to the request that created it. */
	calls: StreamRunCalls;
}

export class StreamRuns {
	readonly #namespace: StreamRunNamespace;

	constructor(namespace: StreamRunNamespace) {
		this.#namespace = namespace;
	}

	create(): NewRun {
		const id = this.#namespace.newUniqueId();
		return { id: id.toString(), calls: this.#namespace.get(id) };
	}

	/**
	 * The events of a run from index `from` on. `undefined`: the run has expired, or is not the owner's. `"malformed"`: the id is not valid.
	 * Throws if the object cannot be called.
	 */
	async resume(id: string, from: number, owner: RunOwner): Promise<Response | "malformed" | undefined> {
		if (!RUN_ID.test(id)) return "malformed";
		let stub: DurableObjectStub<StreamRun>;
		try {
			stub = this.#namespace.get(this.#namespace.idFromString(id));
		} catch {
			// Not an id of this namespace.
			return undefined;
		}
		const query = new URLSearchParams({ ...owner, from: String(from) });
		const response = await stub.fetch(`http://run/?${query}`);
		return response.ok ? response : undefined;
	}
}
