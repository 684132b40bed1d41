/** Management of a gateway's cache. The product has no route for it. */
import { requireGateway } from "../../gateways/run/bound-caller.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { answer } from "../answer.ts";
import { type AppRoute, defineRoutes } from "../route.ts";
import { found, GATEWAYS, managementFailure } from "./management.ts";

export const cacheRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [GATEWAYS], tag: "AI Gateway", failure: managementFailure },
	[
		{
			method: "POST",
			path: "/:gateway/cache/purge",
			summary: "Deletes the cached answers of a gateway",
			output: answer("purgedAnswer"),
			permission: "write",
			async handler(c, { caller, services }) {
				const id = pathParameter(c, "gateway");
				await requireGateway(caller, id, services);
				found(await services.gateways.find(caller.account, id));
				return envelope({ purged: await services.responseCaches.purge(caller.account, id) });
			},
		},
	],
);
