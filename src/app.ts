/** The HTTP app: middleware and the routes. */
import type { Hono } from "hono";
import { toAiError } from "./core/errors.ts";
import { Authenticator } from "./http/authenticate.ts";
import type { Access } from "./http/credentials.ts";
import { type CorsSetting, crossOrigin } from "./http/cross-origin.ts";
import { emptyApp } from "./http/empty-app.ts";
import { failureEnvelope } from "./http/envelope.ts";
import { localOnly } from "./http/local-only.ts";
import { mountRoutes } from "./http/mount-routes.ts";
import { BASE_ADDRESSES } from "./surfaces/bases.ts";
import { ROUTES, UNKNOWN_PATHS } from "./surfaces/routes.ts";
import type { AppServices } from "./surfaces/services.ts";

export function createApp(services: AppServices, { cors, ...access }: Access & { cors?: CorsSetting }): Hono {
	const app: Hono = emptyApp();
	for (const address of BASE_ADDRESSES)
		app.get(address, async (c, next) => (c.req.method === "HEAD" ? c.body(null, 204) : next()));
	if (cors) app.use(crossOrigin(cors));
	const guard = localOnly({ ...access, ...(cors && { cors }) });
	mountRoutes(
		app,
		{ routes: ROUTES, unknown: UNKNOWN_PATHS },
		{ services, authentication: new Authenticator(access, services), ...(guard && { guard }) },
	);
	app.onError((thrown) => {
		const error = toAiError(thrown);
		services.log(error, "");
		return failureEnvelope(error, "");
	});
	return app;
}
