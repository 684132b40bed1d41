/** An isolate's client of the streams that can be resumed. */
import type { RunOwner, StreamRun } from "../durable/stream-run.ts";
import { RunBytes, type StreamRunCalls } from "./run-bytes.ts";

const RUN_ID = /^[0-9a-f]{64}$/;

type RunStub = StreamRunCalls & Pick<DurableObjectStub<StreamRun>, "fetch">;

interface StreamRunsServices {
	/** The object of the account's gateways, which has the ids of its runs. */
	registry(account: string): { recordRun(id: string): Promise<void>; runs(): Promise<string[]> };
	namespace: Pick<DurableObjectNamespace<StreamRun>, "newUniqueId" | "idFromString">;
	/** Throws if the account has too many open objects. A stub belongs to the request that created it. */
	object(id: DurableObjectId, account: string): RunStub;
	now(): number;
}

export interface NewRun {
	/** `cf-aig-run-id`: 64 hexadecimal digits. */
	id: string;
	calls: StreamRunCalls;
}

export class StreamRuns {
	readonly #services: StreamRunsServices;
	readonly #bytes: RunBytes;

	constructor(services: StreamRunsServices) {
		this.#services = services;
		this.#bytes = new RunBytes(services.now);
	}

	create(account: string): NewRun {
		const { namespace, object, registry } = this.#services;
		const id = namespace.newUniqueId();
		const calls = object(id, account);
		const recorded: StreamRunCalls = {
			// First, so that a deletion of the account finds the run after a kill.
			begin: (owner) =>
				registry(account)
					.recordRun(id.toString())
					.then(() => calls.begin(owner)),
			append: (content, events) => calls.append(content, events),
			finish: (state) => calls.finish(state),
			discard: () => calls.discard(),
		} as StreamRunCalls;
		return { id: id.toString(), calls: this.#bytes.counted(recorded, account) };
	}

	/** Deletes all runs of the account. */
	async discard(account: string): Promise<void> {
		const { namespace, object, registry } = this.#services;
		for (const id of await registry(account).runs())
			await object(namespace.idFromString(id), account).discard();
	}

	/** The bytes of runs that have expired are free. */
	releaseExpired(): void {
		this.#bytes.releaseExpired();
	}

	/**
	 * The events of a run from index `from` on. `undefined`: the run has expired, or is not the owner's. `"malformed"`: the id is not valid.
	 * Throws if the object cannot be called.
	 */
	async resume(id: string, from: number, owner: RunOwner): Promise<Response | "malformed" | undefined> {
		if (!RUN_ID.test(id)) return "malformed";
		const { namespace, object } = this.#services;
		let objectId: DurableObjectId;
		try {
			objectId = namespace.idFromString(id);
		} catch {
			// Not an id of this namespace.
			return undefined;
		}
		const query = new URLSearchParams({ ...owner, from: String(from) });
		const response = await object(objectId, owner.account).fetch(`http://run/?${query}`);
		return response.ok ? response : undefined;
	}
}
