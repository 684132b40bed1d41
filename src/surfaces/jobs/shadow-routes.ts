/**
 * Answers of shadows beside those of the log: `…/ai-gateway/gateways/{gateway}/shadows`. Not in the product. They show contents of requests, so the
 * routes need the permission to write, as those of the contents of a log.
 */
import type { Context } from "hono";
import { shadowOfSource, sourceOfShadow } from "../../gateways/shadows/shadow-routes.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { answer } from "../answer.ts";
import { below } from "../bases.ts";
import { GATEWAYS, managementFailure } from "../gateway/management.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import { ComparisonsQuery, comparisonsOf, comparisonsQuery, requireLogs } from "./comparisons.ts";

const SHADOW = "/:shadow";

export const shadowRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [below(GATEWAYS, "/:gateway/shadows")], tag: "AI Gateway", failure: managementFailure },
	[
		{
			method: "GET",
			path: "",
			summary: "Lists the shadows of routes, and their answers in a gateway",
			permission: "write",
			output: answer("shadowsAnswer"),
			handler: list,
		},
		{
			method: "GET",
			path: `${SHADOW}/results`,
			summary: "Shows answers of a shadow beside those of the log",
			permission: "write",
			query: ComparisonsQuery,
			output: answer("replayResultsAnswer"),
			handler: async (c, call) => {
				const query = comparisonsQuery(c);
				return comparisonsOf(sourceOfShadow(pathParameter(c, "shadow")), query, await requireLogs(c, call));
			},
		},
		{
			method: "DELETE",
			path: SHADOW,
			summary: "Deletes the answers of a shadow in a gateway",
			permission: "write",
			output: answer("shadowDeletionAnswer"),
			handler: async (c, call) => {
				const name = pathParameter(c, "shadow");
				await (await requireLogs(c, call)).deleteComparisons(sourceOfShadow(name));
				return envelope({ name });
			},
		},
	],
);

/** Those of the configuration, and others with answers. */
async function list(c: Context, call: AppCall): Promise<Response> {
	const { shadows } = call.services.shadowRoutes;
	const stored = await (await requireLogs(c, call)).comparisonSources(sourceOfShadow(""));
	const answers = new Map(stored.map(({ source, total }) => [shadowOfSource(source), total]));
	const configured = shadows.map(({ name, share, route: { pattern, targets } }) => ({
		...{ name, route: pattern, backend: targets[0]?.backend.backend ?? "" },
		...{ model: targets[0]?.model ?? null, share, answers: answers.get(name) ?? 0 },
	}));
	const names = new Set(shadows.map(({ name }) => name));
	const others = [...answers]
		.filter(([name]) => !names.has(name))
		.map(([name, total]) => ({
			...{ name, route: null, backend: null, model: null, share: 0, answers: total },
		}));
	return envelope([...configured, ...others]);
}
