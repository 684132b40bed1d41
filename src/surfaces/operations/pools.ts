/**
 * Replicas of the backends, for the operator: `GET /client/v4/pools` and `…/pools/{backend}` list them, `POST …/replicas` adds one,
 * `PATCH …/replicas/{id}` drains one or ends its draining, `DELETE …/replicas/{id}` removes one. Not in the product. A change is
 * stored, and takes effect in every isolate within seconds. A drained or removed replica completes its requests. The numbers
 * of requests and tokens are those of this process (on Cloudflare: of one isolate).
 */
import type { Context } from "hono";
import * as z from "zod";
import { EngineUrl } from "../../backends/engine-url.ts";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { idNotFound, notFound } from "../../core/not-found.ts";
import { present } from "../../core/present.ts";
import type { CircuitState } from "../../fleet/breaker.ts";
import { readFields } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { hashText } from "../../pools/block-hashes.ts";
import type { PooledBackend, ReplicaStatus } from "../../pools/pools.ts";
import { type EngineLoad, ROLES, type Role } from "../../pools/replica.ts";
import { MAX_CHANGES, type ReplicaChange } from "../../pools/replica-changes.ts";
import { type NamedReplica, type ReplicaRole, roleProblem } from "../../pools/replica-roles.ts";
import { answer } from "../answer.ts";
import { below, V4 } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import type { AppServices } from "../services.ts";
import { CIRCUITS } from "./engine-sums.ts";

const NewReplica = lazy(() =>
	z.strictObject({
		url: EngineUrl,
		role: z.enum(ROLES).optional(),
		bootstrap_port: z.int().min(1).max(65_535).optional(),
	}),
);
const ReplicaUpdate = lazy(() => z.strictObject({ state: z.enum(["active", "draining"]) }));

export const poolRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [below(V4, "/pools")], tag: "Operations" },
	[
		{
			method: "GET",
			path: "",
			summary: "Lists the backends with their replicas",
			permission: "operator",
			output: answer("poolsAnswer"),
			handler: async (_, { services }) => {
				const backends = backendsOf(services);
				await services.pools.refreshLists(backends);
				return envelope(backends.map((backend) => poolJson(backend, services)));
			},
		},
		{
			method: "GET",
			path: "/:backend",
			summary: "Shows a backend with its replicas",
			permission: "operator",
			output: answer("poolAnswer"),
			handler: async (c, { services }) => {
				const backend = backendAt(c, services);
				await services.pools.refreshLists([backend]);
				return envelope(poolJson(backend, services));
			},
		},
		{
			method: "POST",
			path: "/:backend/replicas",
			summary: "Adds a replica",
			permission: "operator",
			input: { type: "application/json", schema: NewReplica, example: { url: "http://gpu-4:8000/v1" } },
			output: answer("poolReplicaAnswer"),
			handler: addReplica,
		},
		{
			method: "PATCH",
			path: "/:backend/replicas/:replica",
			summary: "Drains a replica, or ends its draining",
			permission: "operator",
			input: { type: "application/json", schema: ReplicaUpdate, example: { state: "draining" } },
			output: answer("poolReplicaAnswer"),
			handler: updateReplica,
		},
		{
			method: "DELETE",
			path: "/:backend/replicas/:replica",
			summary: "Removes a replica",
			permission: "operator",
			output: answer("removedReplicaAnswer"),
			handler: removeReplica,
		},
	],
);

/** Addresses contain slashes, which clients and proxies treat differently in a path. */
export const replicaId = (url: string): string => hashText(url).toString(16).padStart(14, "0");

async function addReplica(c: Context, { services }: AppCall): Promise<Response> {
	const backend = backendAt(c, services);
	const fields = await readFields(NewReplica(), c.req.raw, services);
	const { url } = fields;
	const named: NamedReplica = {
		url,
		...present({ role: fields.role, bootstrapPort: fields.bootstrap_port }),
	};
	const problem = roleProblem(named, backend.pool?.disaggregation?.protocol);
	if (problem) throw new AiError("invalidRequest", `${problem.field}: ${problem.message}`);
	const backends = backendsOf(services);
	await services.pools.refreshLists(backends);
	for (const other of backends)
		if (services.pools.status(other).some((one) => one.url === url && one.state !== "removed"))
			throw new AiError(
				"invalidRequest",
				`url: a replica of the backend '${other.backend}' already has this address`,
			);
	const removed = services.pools.status(backend).find((one) => one.url === url);
	if (removed && named.role !== undefined && named.role !== removed.role)
		throw new AiError(
			"invalidRequest",
			`role: expected "${removed.role}" as in the ${removed.source}, found "${named.role}"`,
		);
	await setState(backend, removed ?? { ...named, source: "api" }, "active", services);
	return showReplica(backend, url, services);
}

async function updateReplica(c: Context, { services }: AppCall): Promise<Response> {
	const { state } = await readFields(ReplicaUpdate(), c.req.raw, services);
	const { backend, replica } = await replicaAt(c, services);
	await setState(backend, replica, state, services);
	return showReplica(backend, replica.url, services);
}

async function removeReplica(c: Context, { services }: AppCall): Promise<Response> {
	const { backend, replica } = await replicaAt(c, services);
	await setState(backend, replica, "removed", services);
	return envelope({ id: replicaId(replica.url) });
}

/** Stores only what differs from the configuration. */
async function setState(
	{ backend }: PooledBackend,
	{ url, source, role, bootstrapPort }: Pick<ReplicaStatus, "url" | "source"> & ReplicaRole,
	state: ReplicaChange["state"],
	{ pools: { changes } }: AppServices,
): Promise<void> {
	if (!changes.canChange)
		throw new AiError("invalidRequest", "FLEET: expected a binding of the class Fleet, found none");
	const added = source === "api";
	const isDefault = added ? state === "removed" : state === "active";
	const roles = added ? present({ role, bootstrapPort }) : {};
	const change: ReplicaChange = { backend, url, state, added, ...roles };
	const stored = await (isDefault ? changes.delete(change) : changes.put(change)).catch((cause: unknown) => {
		throw new AiError("ledgerUnavailable", undefined, { cause });
	});
	if (stored === false)
		throw new AiError(
			"invalidRequest",
			`url: expected at most ${MAX_CHANGES} changed replicas, found another`,
		);
}

/** The backends that a route names, and that have an address. */
function backendsOf({ routing }: AppServices): PooledBackend[] {
	const backends = new Map<string, PooledBackend>();
	for (const { targets } of routing.list())
		for (const { backend, urls, pool } of targets)
			if (urls[0] !== "" || pool?.discover) backends.set(backend, { backend, urls, ...(pool && { pool }) });
	return [...backends.values()];
}

function backendAt(c: Context, services: AppServices): PooledBackend {
	const name = pathParameter(c, "backend");
	const all = backendsOf(services);
	const found = all.find(({ backend }) => backend === name);
	if (found) return found;
	const names = all.map(({ backend }) => backend);
	const cure = "; no route names one with an address (GET /client/v4/pools)";
	throw notFound("Backend", name, { known: names, cure });
}

async function replicaAt(
	c: Context,
	services: AppServices,
): Promise<{ backend: PooledBackend; replica: ReplicaStatus }> {
	const backend = backendAt(c, services);
	await services.pools.refreshLists([backend]);
	const id = pathParameter(c, "replica");
	const all = services.pools.status(backend);
	const replica = all.find(({ url }) => replicaId(url) === id);
	if (replica) return { backend, replica };
	const named = all.map(({ url }) => ({ id: replicaId(url), names: [url] }));
	throw idNotFound("Replica", id, named, `; GET /client/v4/pools/${backend.backend} has the ids`);
}

function showReplica(backend: PooledBackend, url: string, services: AppServices): Response {
	const replica = services.pools.status(backend).find((one) => one.url === url);
	if (!replica) throw notFound("Replica", url);
	return envelope(replicaJson(replica, circuitsOf(backend.backend, services)));
}

interface EngineJson {
	running: number;
	waiting: number;
	cache_usage: number | null;
}

interface ReplicaJson {
	id: string;
	url: string;
	role: Role;
	state: ReplicaStatus["state"];
	source: ReplicaStatus["source"];
	/** The worst of its models. */
	circuit: CircuitState;
	requests: number | null;
	prefill_tokens: number | null;
	decode_tokens: number | null;
	/** The engine's report about all its requests. `null`: it is not polled, or reports nothing. */
	engine: EngineJson | null;
}

function poolJson(backend: PooledBackend, services: AppServices): object {
	const circuits = circuitsOf(backend.backend, services);
	const { policy = "expected", gate } = backend.pool ?? {};
	return {
		backend: backend.backend,
		policy,
		max_requests: gate?.maxRequests ?? null,
		replicas: services.pools.status(backend).map((replica) => replicaJson(replica, circuits)),
		list_problem: services.pools.listProblem(backend) ?? null,
	};
}

const replicaJson = (
	{ url, role, state, source, load }: ReplicaStatus,
	circuits: ReadonlyMap<string, CircuitState>,
): ReplicaJson => ({
	id: replicaId(url),
	url,
	role,
	state,
	source,
	circuit: circuits.get(url) ?? "closed",
	requests: load?.requests ?? null,
	prefill_tokens: load?.prefillTokens ?? null,
	decode_tokens: load?.decodeTokens ?? null,
	engine: load?.report ? engineJson(load.report.load) : null,
});

const engineJson = ({ running, waiting, cacheUsage }: EngineLoad): EngineJson => ({
	running,
	waiting,
	cache_usage: cacheUsage ?? null,
});

function circuitsOf(backend: string, { health }: AppServices): Map<string, CircuitState> {
	const circuits = new Map<string, CircuitState>();
	for (const { backend: name, url, circuit } of health.engines?.() ?? []) {
		const worst = circuits.get(url) ?? "closed";
		if (name === backend && CIRCUITS[circuit] >= CIRCUITS[worst]) circuits.set(url, circuit);
	}
	return circuits;
}
