/**
 * The `Fleet` object: combines what all isolates know about the engines, stores the operator's changes to their replicas, and the
 * hours in which models were used (pools with `preload`). One object for the deployment.
 *
 * Health is not stored on disk: a cooldown lasts seconds, and every isolate keeps its own view, which works without this object.
 */
import { DurableObject } from "cloudflare:workers";
import { SetBackClock } from "../core/elapsed.ts";
import { type ModelDemand, nextPreloadAt, preloadedHour } from "../pools/model-demand.ts";
import type { ReplicaChange } from "../pools/replica-changes.ts";
import { type OthersShare, type OwnShare, SharedLoads } from "../pools/shared-loads.ts";
import { Breaker, type Circuit } from "./breaker.ts";
import { DemandTable } from "./demand-table.ts";
import { ReplicaTable } from "./replica-table.ts";

export const FLEET_NAME = "fleet";
/** Each pool has an object of its own, so that no object has the traffic of all pools. */
export const poolObject = (pool: string): string => `pool ${pool}`;

/** The calls of one target by an isolate since its last report. */
export interface HealthReport {
	/** Backend, address and model. Contains no secret. */
	key: string;
	/** Consecutive failures, the latest at `failedAt`. */
	failures: number;
	failedAt: number;
	circuit: Circuit;
}

export type View = Record<string, Circuit>;

/** Longer than any cooldown: older circuits are forgotten. */
const FORGET_MS = 5 * 60_000;
const MAX_TARGETS = 2_000;

/** The object's memory. Pure. */
export class FleetView {
	readonly #breakers = new Map<string, { breaker: Breaker; reportedAt: number }>();
	readonly #clock = new SetBackClock();

	exchange(reports: readonly HealthReport[], now: number): View {
		// The times of all circuits are ahead. The isolates have closed theirs, too.
		if (this.#clock.notices(now)) this.#breakers.clear();
		for (const { key, circuit, failures, failedAt } of reports.slice(0, MAX_TARGETS)) {
			const breaker = this.#breakers.get(key)?.breaker ?? new Breaker();
			// The map is ordered by the time of the last report.
			this.#breakers.delete(key);
			this.#breakers.set(key, { breaker, reportedAt: now });
			if (circuit.workedAt > breaker.circuit.openedAt) breaker.succeed(circuit.workedAt, circuit.workedAt);
			breaker.learn(circuit);
			if (failedAt > circuit.workedAt) for (let i = 0; i < failures; i++) breaker.fail(failedAt, failedAt);
		}
		const view: View = {};
		for (const [key, { breaker, reportedAt }] of this.#breakers)
			if (reportedAt + FORGET_MS < now || this.#breakers.size > MAX_TARGETS) this.#breakers.delete(key);
			else view[key] = breaker.circuit;
		return view;
	}
}

/** The answer to an isolate's reports. */
interface FleetState {
	circuits: View;
	replicas: ReplicaChange[];
}

export class Fleet extends DurableObject {
	readonly #view = new FleetView();
	readonly #sharedLoads = new SharedLoads();
	#table: ReplicaTable | undefined;
	#demandTable: DemandTable | undefined;

	get #replicas(): ReplicaTable {
		this.#table ??= new ReplicaTable(this.ctx.storage.sql);
		return this.#table;
	}

	/** Takes the reports of one isolate, and returns the state of all. */
	exchange(reports: HealthReport[]): FleetState {
		return { circuits: this.#view.exchange(reports, Date.now()), replicas: this.#replicas.list() };
	}

	/** In the object of one pool (`poolObject`): shares what an isolate knows, and returns what the others have shared. */
	exchangeLoads(isolate: string, own: OwnShare): OthersShare {
		return this.#sharedLoads.exchange(isolate, own, Date.now());
	}

	get #demands(): DemandTable {
		this.#demandTable ??= new DemandTable(this.ctx.storage.sql);
		return this.#demandTable;
	}

	/** A model was used in this hour. The alarm loads models before each hour while there are rows. */
	async addDemand(demand: ModelDemand): Promise<void> {
		this.#demands.add(demand, Date.now());
		const { storage } = this.ctx;
		if ((await storage.getAlarm()) === null) await storage.setAlarm(nextPreloadAt(Date.now()));
	}

	override async alarm(): Promise<void> {
		const now = Date.now();
		// Before the calls of engines, which may take minutes.
		if (this.#demands.deleteOld(now)) await this.ctx.storage.setAlarm(nextPreloadAt(now));
		await this.preload(this.#demands.usualAt(preloadedHour(now)));
	}

	/** Loads models. The Worker's class has the configuration that this needs (`index.ts`). Never rejects. */
	protected async preload(_: readonly ModelDemand[]): Promise<void> {}

	/** Returns all changes, or nothing if there are too many. */
	changeReplica(change: ReplicaChange): ReplicaChange[] | undefined {
		return this.#replicas.put(change);
	}

	/** The replica is again as the configuration has it. Returns all changes. */
	resetReplica(key: Pick<ReplicaChange, "backend" | "url">): ReplicaChange[] {
		return this.#replicas.delete(key);
	}
}
