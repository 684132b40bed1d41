/**
 * What each route asks of its caller. A route that has no row here is refused, whatever handler it has.
 *
 * Cloudflare's permission groups are wider than these permissions: "Workers AI Read" may also run models.
 */
import type { Permission } from "../accounts/admission.ts";
import { RememberingRouter } from "./caching-router.ts";

/** `deferred`: the one call that the route makes of the account's object verifies the credential, before it tells anything. */
export type Requirement = Permission | "deferred";

type Row = Readonly<Record<string, Requirement>>;

const INFERS: Row = { POST: "deferred" };
const READS: Row = { GET: "read" };
const BATCHES: Row = { GET: "run", POST: "run", DELETE: "run" };

const V4 = "/client/v4";
const ACCOUNT = `${V4}/accounts/:account`;
const AI = `${ACCOUNT}/ai`;

/** Below `/ai/v1` of an account, and below `/v1`. */
const OPENAI: Readonly<Record<string, Row>> = {
	"/chat/completions": INFERS,
	"/completions": INFERS,
	// GET: a websocket, which is refused.
	"/responses": { POST: "deferred", GET: "run" },
	"/responses/input_tokens": INFERS,
	"/embeddings": INFERS,
	"/rerank": INFERS,
	"/images/generations": INFERS,
	"/images/edits": INFERS,
	"/audio/speech": INFERS,
	"/audio/transcriptions": INFERS,
	"/audio/translations": INFERS,
	"/messages": INFERS,
	// Where an Anthropic SDK arrives that was given `…/v1` as its base.
	"/v1/messages": INFERS,
	"/messages/count_tokens": INFERS,
	"/v1/messages/count_tokens": INFERS,
	// Named as not available.
	"/messages/batches": BATCHES,
	"/messages/batches/:path{.+}": BATCHES,
	"/v1/messages/batches": BATCHES,
	"/v1/messages/batches/:path{.+}": BATCHES,
	"/models": READS,
	"/models/:model{.+}": READS,
	"/v1/models": READS,
	"/v1/models/:model{.+}": READS,
};

/** Below `/ai/v1beta` of an account, and below `/v1beta`. */
const GEMINI: Readonly<Record<string, Row>> = {
	"/models": READS,
	"/models/:model{.+}": { GET: "read", POST: "deferred" },
};

/** What of the binding's wire reads; everything else of it runs. */
const WIRE_READS: ReadonlySet<string> = new Set([
	"/ai-api/models/search",
	"/to-everything/markdown/supported",
]);

/** The permission of an operation of the binding's wire, by its path. */
export const wirePermission = (path: string): Permission =>
	WIRE_READS.has(path.replace(/\/$/, "")) ? "read" : "run";

/** Patterns of the OpenAI-compatible routes, from their base on. */
export const OPENAI_PATHS: readonly string[] = Object.keys(OPENAI);

const below = (base: string, rows: Readonly<Record<string, Row>>): Record<string, Row> =>
	Object.fromEntries(Object.entries(rows).map(([path, row]) => [`${base}${path}`, row]));

/** Of several patterns that a path matches, the first counts. */
export const ROUTE_PERMISSIONS: Readonly<Record<string, Row>> = {
	[`${AI}/run`]: INFERS,
	// The permission is that of the operation it carries, {@link wirePermission}, which the handler verifies.
	[`${AI}/run/proxy`]: {
		GET: "deferred",
		POST: "deferred",
		PUT: "deferred",
		PATCH: "deferred",
		DELETE: "deferred",
	},
	// GET: a websocket.
	[`${AI}/run/:model{.+}`]: { POST: "deferred", GET: "deferred" },

	...below(`${AI}/v1`, OPENAI),
	// The account is the token's: where clients arrive that were given `http://host/v1` as their base.
	...below("/v1", OPENAI),

	...below(`${AI}/v1beta`, GEMINI),
	...below("/v1beta", GEMINI),

	[`${AI}/models/search`]: READS,
	[`${AI}/models/schema`]: READS,
	[`${AI}/tasks/search`]: READS,
	[`${AI}/authors/search`]: READS,
	[`${AI}/aliases`]: READS,
	[`${AI}/aliases/:alias{.+}`]: { GET: "read", PUT: "write", DELETE: "write" },
	[`${AI}/explain/:model{.+}`]: { POST: "read" },
	[`${AI}/tomarkdown`]: INFERS,
	[`${AI}/tomarkdown/supported`]: READS,
	[`${AI}/finetunes`]: { GET: "read", POST: "write" },
	[`${AI}/finetunes/public`]: READS,
	[`${AI}/finetunes/:finetune/finetune-assets`]: { POST: "write" },

	[`${AI}/usage`]: READS,
	[`${AI}/usage/refused`]: READS,
	[`${AI}/usage/requests`]: READS,
	"/metrics": { GET: "deferred" },
	// For the operator alone, which the handlers check.
	[`${V4}/accounts`]: { GET: "deferred" },
	[`${V4}/usage`]: { GET: "deferred" },

	"/v1/:account/:gateway": { POST: "run" },
	// The universal address, as the binding's class writes it.
	"/v1/:account/:gateway/": { POST: "run" },
	"/v1/:account/:gateway/:provider/:endpoint{.+}": { POST: "run" },

	[`${ACCOUNT}/tokens`]: { GET: "tokens-read", POST: "tokens-write" },
	[`${ACCOUNT}/tokens/verify`]: { GET: "deferred" },
	[`${ACCOUNT}/tokens/permission_groups`]: { GET: "tokens-read" },
	[`${ACCOUNT}/tokens/:token`]: { GET: "tokens-read", PUT: "tokens-write", DELETE: "tokens-write" },
	[`${ACCOUNT}/tokens/:token/value`]: { PUT: "tokens-write" },
	[`${V4}/user/tokens/verify`]: { GET: "deferred" },
};

/** `account`: as the path has it, for routes that have one. `requirement`: absent for a method that the path has not. */
export interface Matched {
	account?: string;
	requirement?: Requirement;
}

/** Matches as the app's own router does: the first pattern wins. Nothing for a path without a row. */
export function permissionTable(
	rows: Readonly<Record<string, Row>> = ROUTE_PERMISSIONS,
): (method: string, path: string) => Matched | undefined {
	const router = new RememberingRouter<Row>();
	for (const [pattern, row] of Object.entries(rows)) router.add("ALL", pattern, row);
	return (method, path) => {
		const [first] = router.match("ALL", path)[0];
		if (!first) return undefined;
		const [row, params] = first;
		// Answered as a GET without its body.
		const requirement = row[method === "HEAD" ? "GET" : method];
		const account = "account" in params ? String(params.account) : undefined;
		return { ...(account !== undefined && { account }), ...(requirement && { requirement }) };
	};
}
