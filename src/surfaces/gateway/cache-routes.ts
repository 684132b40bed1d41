/** Management of a gateway's cache. The product has no route for it. */
import { requireGateway } from "../../gateways/run/bound-caller.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { answer } from "../answer.ts";
import { type AppRoute, defineRoutes } from "../route.ts";
import { GATEWAYS, gatewayOf, managementFailure } from "./management.ts";

export const cacheRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [GATEWAYS], tag: "AI Gateway", failure: managementFailure },
	[
		{
			method: "POST",
			path: "/:gateway/cache/purge",
			summary: "Deletes the cached answers of a gateway",
			output: answer("purgedAnswer"),
			permission: "write",
			async handler(c, call) {
				const { caller, services } = call;
				await requireGateway(caller, pathParameter(c, "gateway"), services);
				const id = await gatewayOf(c, call);
				return envelope({ purged: await services.responseCaches.purge(caller.account, id) });
			},
		},
	],
);
