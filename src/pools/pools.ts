/** The pools of all backends. They live as long as the isolate, also when the configuration is read again. */
import { present } from "../core/present.ts";
import type { Discoveries } from "./discovery.ts";
import type { EnginePolls, PolledEngine } from "./engine-polls.ts";
import type { LoadExchange } from "./load-exchange.ts";
import type { DemandReports } from "./model-demand.ts";
import { Pool } from "./pool.ts";
import { PoolGate } from "./pool-gate.ts";
import { type PoolReport, reportOf } from "./pool-report.ts";
import type { PoolSettings } from "./pool-settings.ts";
import type { Stages } from "./prefill-decode/legs.ts";
import { newPairCounts } from "./prefill-decode/pair-counts.ts";
import { roleOf } from "./prefill-decode/settings.ts";
import type { Replica, Role } from "./replica.ts";
import {
	listReplicas,
	type ReplicaChange,
	type ReplicaChanges,
	type ReplicaState,
} from "./replica-changes.ts";
import type { ReplicaList } from "./replica-list.ts";
import { mergeRoles, rolesOf } from "./replica-roles.ts";
import type { WakeCalls } from "./wake-calls.ts";

/** A backend as its configuration has it. */
export interface PooledBackend {
	backend: string;
	/** Base addresses. Empty texts are ignored: a backend that discovers its replicas has no other. */
	urls: readonly string[];
	pool?: PoolSettings;
}

/** A backend with what a poll of its engines needs. */
type PolledBackend = PooledBackend & Omit<PolledEngine, "url">;

/** The pool of a backend, with the settings that its users need. */
export interface BackendPool extends Stages {
	/** Addresses in the order of the configuration, then those that the operator has added. */
	readonly urls: readonly string[];
	/** The roles are also those of lists and of the operator's changes. */
	readonly settings: PoolSettings;
	readonly gate?: PoolGate;
	/** Requests that have arrived, since this isolate started. */
	readonly arrivals: { count: number };
}

/** A replica for the operator. */
export interface ReplicaStatus {
	url: string;
	role: Role;
	/** SGLang: absent for the default. */
	bootstrapPort?: number;
	state: ReplicaState;
	/** `api`: the operator has added it. */
	source: "configuration" | "discovery" | "api";
	/** Its requests in progress. Absent: the backend has no pool, or the replica was removed. */
	load?: Pick<Replica, "requests" | "prefillTokens" | "decodeTokens" | "report">;
}

interface PoolsServices {
	/** 0 to 1. */
	random(): number;
	changes: ReplicaChanges;
	/** Absent: no list of replicas is read. */
	discoveries?: Discoveries;
	/** Absent: engines are not polled. */
	polls?: EnginePolls;
	/** Absent: isolates do not share their loads. */
	loadExchange?: LoadExchange;
	/** Absent: no pool is woken. */
	wakeCalls?: WakeCalls;
	/** Absent: no model is loaded in advance. */
	demandReports?: DemandReports;
}

interface PoolSource {
	/** Addresses of the configuration. */
	urls: readonly string[];
	/** The latest list, which replaces them. */
	list: ReplicaList | undefined;
	settings: PoolSettings;
	changes: readonly ReplicaChange[] | undefined;
}

interface ConfiguredPool extends BackendPool {
	/** The settings and lists from which the pool was made. */
	readonly source: PoolSource;
}

export class Pools {
	/** The operator's changes to the replicas. */
	readonly changes: ReplicaChanges;
	readonly wakeCalls: WakeCalls | undefined;
	readonly demandReports: DemandReports | undefined;
	readonly #services: PoolsServices;
	readonly #pools = new Map<string, ConfiguredPool>();

	constructor(services: PoolsServices) {
		this.#services = services;
		this.changes = services.changes;
		this.wakeCalls = services.wakeCalls;
		this.demandReports = services.demandReports;
	}

	/** A request for one of these backends has arrived: reads what is due of their replicas, which is usually nothing. Never rejects. */
	async refresh(backends: readonly PolledBackend[]): Promise<void> {
		const reading = this.refreshLists(backends);
		if (reading) await reading;
		this.#poll(backends);
	}

	/** The same, without polls of the engines. Returns nothing if nothing is due. */
	refreshLists(backends: readonly PooledBackend[]): Promise<unknown> | undefined {
		const { changes, discoveries } = this.#services;
		const reads: Promise<unknown>[] = [];
		const changed = changes.refresh();
		if (changed) reads.push(changed);
		for (const { backend, pool } of backends) {
			const { discover, disaggregation } = pool ?? {};
			const listed = discover && discoveries?.refresh(backend, discover, disaggregation?.protocol);
			if (listed) reads.push(listed);
		}
		return reads.length > 0 ? Promise.all(reads) : undefined;
	}

	/** Returns nothing for a backend with one address, no pool and no changes. */
	of({ backend, urls, pool: settings = DEFAULTS }: PooledBackend): BackendPool | undefined {
		const list = settings.discover && this.#services.discoveries?.of(backend);
		const changes = this.changes.of(backend);
		if (settings === DEFAULTS && urls.length < 2 && !changes) return undefined;
		const existing = this.#pools.get(backend);
		const source = existing?.source;
		if (
			source?.urls === urls &&
			source.list === list &&
			source.changes === changes &&
			source.settings === settings
		)
			return existing;
		return this.#configure(backend, { urls, list, settings, changes }, existing);
	}

	/** The replicas of a backend, including removed ones of the configuration. */
	status(pooled: PooledBackend): ReplicaStatus[] {
		const pool = this.of(pooled);
		const all = [...(pool?.replicas.replicas ?? []), ...(pool?.prefill?.replicas ?? [])];
		const loads = new Map(all.map((one) => [one.url, one]));
		const list = pooled.pool?.discover && this.#services.discoveries?.of(pooled.backend);
		const listed = list ? "discovery" : "configuration";
		const changes = this.changes.of(pooled.backend);
		return listReplicas(list?.urls ?? pooled.urls, changes).map(({ url, state, added }) => {
			const load = loads.get(url);
			const disaggregation = pool?.settings.disaggregation;
			const bootstrapPort = disaggregation?.bootstrapPorts[url];
			const role = roleOf(disaggregation, url);
			return {
				url,
				role,
				...present({ bootstrapPort }),
				state,
				source: added ? "api" : listed,
				...(load && { load }),
			};
		});
	}

	/** Why the latest list of a backend is not used. Absent: the list is used, or the backend has none. */
	listProblem({ backend, pool }: PooledBackend): string | undefined {
		return pool?.discover && this.#services.discoveries?.problemOf(backend);
	}

	/** Reads the list of a backend that has one, also if it is not due. Never rejects. */
	async refreshNow({ backend, pool }: PooledBackend): Promise<void> {
		if (pool?.discover)
			await this.#services.discoveries?.refreshNow(backend, pool.discover, pool.disaggregation?.protocol);
	}

	/** A replica may come at any time: the list is due this long after its latest read at the latest. */
	hurryList(backend: string, milliseconds: number): void {
		this.#services.discoveries?.hurry(backend, milliseconds);
	}

	#poll(backends: readonly PolledBackend[]): void {
		const { loadExchange, polls } = this.#services;
		for (const backend of backends) {
			const { pollMs } = backend.pool ?? DEFAULTS;
			const found = pollMs !== undefined || loadExchange ? this.of(backend) : undefined;
			if (!found) continue;
			const { prefill, replicas } = found;
			for (const [stage, pool] of [["", replicas] as const, ["prefill", prefill] as const]) {
				if (!pool) continue;
				loadExchange?.start(`${backend.backend} ${stage}`, pool);
				if (pollMs !== undefined) polls?.start(pool, pollMs, backend);
			}
		}
	}

	reports(now: number): PoolReport[] {
		return [...this.#pools].map(([backend, { arrivals, replicas, prefill, pairCounts, gate }]) => ({
			backend,
			incoming: arrivals.count,
			...reportOf(prefill ? [replicas, prefill] : [replicas]),
			...(prefill && { stages: { prefill: reportOf([prefill]), decode: reportOf([replicas]) } }),
			...(pairCounts && { pairs: structuredClone(pairCounts) }),
			...(gate && { gate: gate.report(now) }),
		}));
	}

	/** Replicas that stay keep what was learned about them, unless the policy or their role has changed. */
	#configure(backend: string, source: PoolSource, existing: ConfiguredPool | undefined): BackendPool {
		const { list, changes = [] } = source;
		const { policy } = source.settings;
		const settings = withRoles(source);
		const { disaggregation } = settings;
		const keeps =
			existing &&
			existing.settings.policy === policy &&
			(existing.prefill !== undefined) === (disaggregation !== undefined);
		const listed = listReplicas(list?.urls ?? source.urls, changes).filter(
			({ state }) => state !== "removed",
		);
		const urls = listed.map(({ url }) => url);
		const isPrefill = (url: string) => roleOf(disaggregation, url) === "prefill";
		const poolWith = (members: readonly string[]) =>
			new Pool(this.#rotated(members), policy ? { policy } : {});
		const replicas = keeps ? existing.replicas : poolWith(urls.filter((url) => !isPrefill(url)));
		const prefill = keeps ? existing.prefill : disaggregation && poolWith(urls.filter(isPrefill));
		const poolOf = (url: string) => (isPrefill(url) && prefill) || replicas;
		const remaining = new Set(urls);
		for (const url of existing?.urls ?? [])
			for (const pool of [replicas, prefill])
				if (!remaining.has(url) || poolOf(url) !== pool) pool?.remove(url);
		for (const { url, state } of listed) {
			const pool = poolOf(url);
			if (!pool.get(url) || state === "active") pool.add(url);
			if (state === "draining") pool.drain(url);
		}
		const hasBoth = urls.some((url) => roleOf(disaggregation, url) === "both");
		const limit = settings.gate;
		// Requests in progress leave the gate that they entered.
		const gate =
			keeps && JSON.stringify(existing.settings.gate) === JSON.stringify(limit)
				? existing.gate
				: limit &&
					new PoolGate(limit, () => ({
						replicas: replicas.members.length,
						mayGrow: mayGrow(this.#pools.get(backend)),
					}));
		const configured = {
			replicas,
			hasBoth,
			settings,
			urls,
			source,
			arrivals: existing?.arrivals ?? { count: 0 },
			...(prefill && { prefill, pairCounts: existing?.pairCounts ?? newPairCounts() }),
			...(gate && { gate }),
		};
		this.#pools.set(backend, configured);
		gate?.update();
		return configured;
	}

	/** Isolates start with different replicas, because each begins with the first of its own order. */
	#rotated(urls: readonly string[]): string[] {
		const start = Math.floor(this.#services.random() * urls.length);
		return [...urls.slice(start), ...urls.slice(0, start)];
	}
}

/** Replicas may come without a change by the operator. */
const mayGrow = (pool: BackendPool | undefined): boolean =>
	pool?.settings.discover !== undefined || pool?.settings.wake !== undefined;

/** The settings with the roles of the list, and of the replicas that the operator has added. */
function withRoles({ changes = [], list, settings }: PoolSource): PoolSettings {
	const { disaggregation } = settings;
	if (!disaggregation) return settings;
	const roles = mergeRoles([disaggregation, ...(list ? [list] : []), rolesOf(changes)]);
	return { ...settings, disaggregation: { ...disaggregation, ...roles } };
}

const DEFAULTS: PoolSettings = {};
