/**
 * The entrypoint `Reload`, for a process of one's own (`scripts/serve.ts`): a POST of all variables, as JSON, replaces the
 * configuration. Requests under way keep the one that they began with. A configuration with mistakes is refused (422, the
 * message of the `ConfigError`), and the current one stays. No route leads here: the owner of the socket may ask.
 */
import { WorkerEntrypoint } from "cloudflare:workers";

/** @param replace returns the mistakes of the new configuration, and has then changed nothing. */
export function reload(replace: (variables: object) => string | undefined) {
	return class extends WorkerEntrypoint {
		override async fetch(request: Request): Promise<Response> {
			const problems = replace(await request.json<object>());
			return new Response(problems ?? null, { status: problems === undefined ? 204 : 422 });
		}
	};
}
