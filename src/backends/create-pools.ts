/** Creates the pools of an isolate, with their calls of engines, of the operator's services and of the `Fleet` object. */
import { FLEET_NAME, type Fleet, poolObject } from "../fleet/fleet.ts";
import { SHORT_CALLS } from "../outbound/limits.ts";
import { shortCall } from "../outbound/short-call.ts";
import { Discoveries } from "../pools/discovery.ts";
import { EnginePolls } from "../pools/engine-polls.ts";
import { LoadExchange } from "../pools/load-exchange.ts";
import { DemandReports } from "../pools/model-demand.ts";
import { Pools } from "../pools/pools.ts";
import { type ChangeStore, ReplicaChanges } from "../pools/replica-changes.ts";
import { WakeCalls } from "../pools/wake-calls.ts";
import { readEngineLoad } from "./engine-load.ts";
import { getText } from "./transport/get-text.ts";

interface PoolRuntime {
	fetch: typeof fetch;
	now(): number;
	wait(milliseconds: number): Promise<void>;
	waitUntil(work: Promise<unknown>): void;
	/** Absent: the operator cannot change replicas, and isolates share nothing. */
	fleet: DurableObjectNamespace<Fleet> | undefined;
	readChanges: ChangeStore["read"];
	/** No other isolate sends to the pools. */
	isOnlyProcess?: boolean;
}

export function createPools(runtime: PoolRuntime): Pools {
	const { fetch, fleet, isOnlyProcess, now, wait, waitUntil } = runtime;
	return new Pools({
		random: () => Math.random(),
		changes: new ReplicaChanges({
			now,
			wait,
			...(isOnlyProcess && { isOnlyProcess }),
			...(fleet && { store: changeStore(fleet, runtime) }),
		}),
		discoveries: new Discoveries({
			now,
			wait,
			waitUntil,
			read: (url) => getText({ url, headers: {}, fetch }),
		}),
		polls: new EnginePolls({
			now,
			waitUntil,
			read: (engine, source) => readEngineLoad({ ...engine, source, fetch }),
		}),
		wakeCalls: new WakeCalls({
			now,
			waitUntil,
			post: async (url, body) => {
				await shortCall({
					fetch,
					url,
					method: "POST",
					body: JSON.stringify(body),
					headers: { "content-type": "application/json" },
					...SHORT_CALLS.wake,
				});
			},
		}),
		...(fleet && {
			demandReports: new DemandReports({
				now,
				waitUntil,
				report: (demand) => fleet.getByName(FLEET_NAME).addDemand(demand),
			}),
		}),
		...(fleet &&
			!isOnlyProcess && {
				loadExchange: new LoadExchange({
					now,
					waitUntil,
					uuid: () => crypto.randomUUID(),
					exchange: (pool, isolate, own) => fleet.getByName(poolObject(pool)).exchangeLoads(isolate, own),
				}),
			}),
	});
}

const changeStore = (
	fleet: DurableObjectNamespace<Fleet>,
	{ readChanges }: Pick<PoolRuntime, "readChanges">,
): ChangeStore => ({
	read: readChanges,
	put: (change) => fleet.getByName(FLEET_NAME).changeReplica(change),
	delete: (key) => fleet.getByName(FLEET_NAME).resetReplica(key),
});
