/**
 * Routes of OpenAI that this gateway does not have, and why: docs/choices.md. For a wrong base address, the right one.
 */
import { OPENAI_PATHS } from "../../http/permissions.ts";

const STORE = "nothing is stored: send the whole input to /responses";
const FILES = "files are not stored: send their content with the request";

/** By the first segment behind `/v1/`. */
const REASONS: Readonly<Record<string, string>> = {
	responses: `${STORE} (retrieve, delete, cancel, compact and input_items need a store)`,
	conversations: STORE,
	assistants: STORE,
	threads: STORE,
	files: FILES,
	uploads: FILES,
	vector_stores: FILES,
	containers: FILES,
	batches: "there is no queue: send the requests one by one",
	moderations:
		"there is no moderation endpoint: ask a guard model, such as @cf/meta/llama-guard-3-8b, at /chat/completions",
	fine_tuning: "models are not trained here",
	evals: "models are not evaluated here",
	videos: "no model makes videos",
	images: "of images, generations and edits are available",
	audio: "of audio, speech, transcriptions and translations are available",
	realtime: "live sound is available at /ai/run/{model} over a websocket, for models that take it",
};

const BELOW_V1 = /^(?:\/client\/v4\/accounts\/[^/]+\/ai)?\/v1\/([a-z_]+)(?:\/|$)/;

/** A base address that lacks `/ai` or `/v1`, or repeats one, and the rest of the path. */
const WRONG_BASE = /^(\/client\/v4\/accounts\/[^/]+)?(?:\/(?:ai|api|openai|v1))*(\/[a-z_/]+?)\/?$/;

/** The address of the OpenAI-compatible route that a path without a route ends with. */
function rightAddress(path: string): string | undefined {
	const [, account, route = ""] = WRONG_BASE.exec(path) ?? [];
	if (!OPENAI_PATHS.includes(route)) return undefined;
	return `${account === undefined ? "" : `${account}/ai`}/v1${route}`;
}

/** The sentence for a path that no route has, where it is one of OpenAI's, or ends with one that exists. */
export function absentRoute(path: string): string | undefined {
	const [, segment = ""] = BELOW_V1.exec(path) ?? [];
	const reason = Object.hasOwn(REASONS, segment) ? REASONS[segment] : undefined;
	if (reason) return `No route for that URI: ${reason}`;
	const address = rightAddress(path);
	return address && `No route for that URI: the address is ${address}`;
}
