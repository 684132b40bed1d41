/**
 * The entrypoint `Reload`, for a process of one's own (`scripts/serve.ts`): a POST of all variables, as JSON, replaces the
 * configuration. Requests under way keep the one that they began with. A configuration with mistakes is refused (422, the
 * message of the `ConfigError`), and the current one stays. No route leads here: the owner of the socket may ask.
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import { ConfigError } from "../config.ts";

/** @param replace throws a `ConfigError`, and has then changed nothing. */
export function reload(replace: (variables: object) => void) {
	return class extends WorkerEntrypoint {
		override async fetch(request: Request): Promise<Response> {
			try {
				replace(await request.json<object>());
				return new Response(null, { status: 204 });
			} catch (error) {
				if (error instanceof ConfigError) return new Response(error.message, { status: 422 });
				throw error;
			}
		}
	};
}
