/**
 * `GET /client/v4/engines`: the routes of the configuration, and the health of the engines that they name. Only for the
 * operator. Not in the product. The counts are those of all processes of this gateway since their start (on Cloudflare: of one isolate).
 */
import type { CircuitState } from "../../fleet/breaker.ts";
import { type EngineReport, hostOf } from "../../fleet/health.ts";
import { envelope } from "../../http/envelope.ts";
import type { RouteSummary } from "../../pipeline/plan.ts";
import { answer } from "../answer.ts";
import { V4 } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import { sumEngines } from "./engine-sums.ts";
import { replicaId } from "./pools.ts";
import { allReports, type Labelled } from "./worker-reports.ts";

export const engineRoutes: readonly AppRoute[] = defineRoutes({ bases: [V4], tag: "Operations" }, [
	{
		method: "GET",
		path: "/engines",
		summary: "Shows the routes and the health of the engines",
		permission: "operator",
		output: answer("enginesAnswer"),
		handler: (_, call) => listEngines(call),
	},
]);

async function listEngines({ services }: AppCall): Promise<Response> {
	const { engines } = await allReports(services);
	return envelope({
		routes: services.routing.list().map(routeJson),
		engines: sumEngines(engines, ({ backend, url, model }) => [backend, url, model]).map(engineJson),
	});
}

const routeJson = ({ pattern, targets }: RouteSummary): object => ({
	pattern,
	targets: targets.map(({ backend, urls, model, weight, weights }) => ({
		backend,
		replicas: urls.map(hostOf).filter((host) => host !== ""),
		...(model !== undefined && { model }),
		...(weight !== undefined && { weight }),
		...(weights !== undefined && { weights }),
	})),
});

interface EngineJson {
	backend: string;
	replica: string;
	/** The id in `…/pools/{backend}`. `null`: the backend has no address. */
	replica_id: string | null;
	model: string;
	circuit: CircuitState;
	requests: number;
	failures: number;
	answers: number;
	/** Mean time to the start of an answer. `null`: there was none. */
	latency_ms: number | null;
}

const engineJson = ({ begun, url, waitedMs, worker: _, ...engine }: Labelled<EngineReport>): EngineJson => ({
	...engine,
	replica_id: url === "" ? null : replicaId(url),
	answers: begun,
	latency_ms: begun > 0 ? waitedMs / begun : null,
});
