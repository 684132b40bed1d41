/** `shadow` of a route: a second target that receives a share of its requests, after their answers. */
import * as z from "zod";
import { isRecord } from "../core/json.ts";
import { type Shadow, ShadowRoutes } from "../gateways/shadows/shadow-routes.ts";
import type { Route } from "../pipeline/route.ts";
import { type Env, headers } from "./headers.ts";
import type { Path } from "./problems.ts";
import { checkBackend, type RouteContext } from "./routes.ts";
import { SetTimeouts } from "./timeouts.ts";

/** A part of the paths of its results. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** A shadow that fails is compared as a failure. */
const ONCE = { attempts: 1, baseMs: 0, maxMs: 0 };

const ShadowSetting = (env: Env) =>
	z.strictObject({
		name: z.string().regex(NAME, "expected 1 to 64 letters, digits, _ or -, found another name"),
		share: z.number().gt(0).max(1),
		// Checked against the backends, also if it is absent.
		backend: z.unknown().optional(),
		model: z.string().min(1).optional(),
		headers: headers(env).optional(),
		timeouts: SetTimeouts.optional(),
	});

/** `entries`: of `ROUTES`. `routes`: all routes. */
export function readShadows(
	entries: readonly [string, unknown][],
	routes: readonly Route[],
	context: RouteContext,
): ShadowRoutes {
	const { backends, env, problems } = context;
	const schema = ShadowSetting(env);
	const shadows = entries.flatMap(([pattern, entry]): Shadow[] => {
		if (!isRecord(entry) || entry.shadow === undefined) return [];
		const path: Path = ["ROUTES", pattern, "shadow"];
		checkBackend(entry.shadow, path, context);
		const parsed = problems.parse(schema, entry.shadow, path);
		const backend = backends.get(String(parsed?.backend));
		if (!parsed || !backend) return [];
		const { name, share, backend: _, headers: own = {}, ...target } = parsed;
		return [
			{
				...{ name, share },
				route: {
					pattern,
					targets: [{ ...target, backend, headers: own }],
					// The requests were accepted by the route.
					strict: false,
					settings: { retries: ONCE },
				},
			},
		];
	});
	for (const [index, { name, route }] of shadows.entries())
		if (shadows.findIndex((other) => other.name === name) < index)
			problems.add(
				["ROUTES", route.pattern, "shadow", "name"],
				`expected a name of its own, found ${JSON.stringify(name)} again`,
			);
	return new ShadowRoutes(shadows, routes);
}
