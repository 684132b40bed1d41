/**
 * The entrypoint `Reload`, for an operator who runs the Worker in a separate process (`scripts/reload.ts`): a POST of all
 * variables, as JSON, replaces the configuration. Requests in progress keep the configuration with which they started. An
 * invalid configuration is refused (422, the message of the `ConfigError`), and the current one stays in use. The
 * entrypoint has no route: only the owner of the socket can call it.
 */
import { WorkerEntrypoint } from "cloudflare:workers";

/** @param replace applies a configuration. If it is invalid, `replace` changes nothing and returns the problems. */
export function reload(replace: (variables: object) => string | undefined) {
	return class extends WorkerEntrypoint {
		override async fetch(request: Request): Promise<Response> {
			const problems = replace(await request.json<object>());
			return new Response(problems ?? null, { status: problems === undefined ? 204 : 422 });
		}
	};
}
