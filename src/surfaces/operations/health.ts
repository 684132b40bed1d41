/**
 * `GET /health` and `GET /ready`, for supervisors and load balancers. `/health` is 200 while the process answers. `/ready`
 * is 200 while the process takes requests and its Durable Objects can write, otherwise 503. They need no token, so they
 * disclose nothing else.
 */
import { hasPassed } from "../../core/elapsed.ts";
import { AiError } from "../../core/errors.ts";
import { objectUnavailable } from "../../core/object-failure.ts";
import { awaitedElsewhere } from "../../core/settled-elsewhere.ts";
import { resultWithin } from "../../core/with-timeout.ts";
import { answer } from "../answer.ts";
import { type AppRoute, defineRoutes } from "../route.ts";
import type { AppServices } from "../services.ts";

export const HEALTH_PATH = "/health";
/** How long the answer of the Durable Object is cached, so that many probes cause no additional calls. */
const READY_CACHE_MS = 1_000;
/** An object that takes longer is as good as none. */
const PROBE_MS = 5_000;
const NO_STORE = { "cache-control": "no-store" };

/** The latest probe of each directory. All requests of an isolate have the same directory. */
const probes = new WeakMap<AppServices["directory"], { at: number; ready: Promise<boolean> }>();

function isReady(services: AppServices): Promise<boolean> {
	const { directory, now, startTimer, waitUntil } = services;
	const at = now();
	const latest = probes.get(directory);
	if (latest && !hasPassed(READY_CACHE_MS, latest.at, at)) return latest.ready;
	const probed = resultWithin(probe(services), PROBE_MS, { startTimer }).then((isUp = false) => isUp);
	const ready = awaitedElsewhere(probed);
	// The runtime drops what a request waits for when its caller leaves. Others wait for the same probe.
	waitUntil(ready);
	probes.set(directory, { at, ready });
	return ready;
}

async function probe({ directory, log, uuid }: AppServices): Promise<boolean> {
	try {
		await directory.probe();
		return true;
	} catch (error) {
		log(error instanceof AiError ? error : objectUnavailable(error), uuid());
		return false;
	}
}

export const healthRoutes: readonly AppRoute[] = defineRoutes({ bases: [{ path: "" }], tag: "Operations" }, [
	{
		method: "GET",
		path: HEALTH_PATH,
		summary: "Whether the process answers",
		permission: "none",
		output: answer("statusAnswer"),
		handler: (c) => c.json({ status: "ok" }, 200, NO_STORE),
	},
	{
		method: "GET",
		path: "/ready",
		summary: "Whether the process takes requests and its Durable Objects can write",
		permission: "none",
		output: answer("statusAnswer"),
		handler: async (c, { services }) =>
			(await isReady(services))
				? c.json({ status: "ready" }, 200, NO_STORE)
				: c.json({ status: "unavailable" }, 503, NO_STORE),
	},
]);
