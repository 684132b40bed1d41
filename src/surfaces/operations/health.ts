/**
 * `GET /health` and `GET /ready`, without a token: for supervisors and load balancers. `/health` is 200 while the process
 * answers. `/ready` is 200 while it takes requests and its Durable Objects can be asked, else 503. Neither tells more:
 * anyone may ask.
 */
import { toAiError } from "../../core/errors.ts";
import { v4Failure } from "../../http/failure-formats.ts";
import { defineRoutes, type Route } from "../../http/route.ts";
import type { Services } from "../../pipeline/services.ts";

export const HEALTH_PATH = "/health";
/** Answers of the objects are kept for so long: no number of probes costs more calls. */
const READY_MS = 1_000;
const NO_STORE = { "cache-control": "no-store" };

/** By directory: the same for all requests of an isolate. */
const probes = new WeakMap<Services["directory"], { at: number; ready: Promise<boolean> }>();

function isReady(services: Services): Promise<boolean> {
	const { directory, now } = services;
	const at = now();
	const latest = probes.get(directory);
	if (latest && Math.abs(at - latest.at) < READY_MS) return latest.ready;
	const ready = probe(services);
	probes.set(directory, { at, ready });
	return ready;
}

async function probe({ directory, log, uuid }: Services): Promise<boolean> {
	try {
		await directory.list({ limit: 1 });
		return true;
	} catch (error) {
		log(toAiError(error), uuid());
		return false;
	}
}

export const healthRoutes: readonly Route[] = defineRoutes(
	{ bases: [{ path: "" }], tag: "Operations", failure: v4Failure },
	[
		{
			method: "GET",
			path: HEALTH_PATH,
			summary: "Whether the process answers",
			permission: "none",
			handler: (c) => c.json({ status: "ok" }, 200, NO_STORE),
		},
		{
			method: "GET",
			path: "/ready",
			summary: "Whether the process takes requests and its Durable Objects answer",
			permission: "none",
			handler: async (c, { services }) =>
				(await isReady(services))
					? c.json({ status: "ready" }, 200, NO_STORE)
					: c.json({ status: "unavailable" }, 503, NO_STORE),
		},
	],
);
