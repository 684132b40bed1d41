/**
 * Routes of OpenAI that this gateway does not have, and why: docs/choices.md. For a wrong base address, the right one.
 */
import { FAILURES } from "../../core/errors.ts";
import { openAiFailure, v4Failure } from "../../http/failure-formats.ts";
import { defineUnknown, type UnknownPaths } from "../../http/route.ts";
import { V1 } from "../bases.ts";
import { OPENAI, OPENAI_PATHS } from "./openai.ts";

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

/** A base address that lacks `/ai` or `/v1`, or repeats one, and the rest of the path. */
const WRONG_BASE = /^(\/client\/v4\/accounts\/[^/]+)?(?:\/(?:ai|api|openai|v1))*(\/[a-z_/]+?)\/?$/;

const NO_ROUTE = FAILURES.noRoute.description;

/** Names the address of the OpenAI-compatible route that a path without a route ends with. */
function rightAddress(path: string): string | undefined {
	const [, account, route = ""] = WRONG_BASE.exec(path) ?? [];
	if (!OPENAI_PATHS.has(route)) return undefined;
	return `${NO_ROUTE}: the address is ${account === undefined ? "" : `${account}/ai`}/v1${route}`;
}

const absent = [
	...Object.entries(REASONS).map(([segment, reason]) => ({
		path: `/${segment}/*`,
		explain: () => `${NO_ROUTE}: ${reason}`,
	})),
	{ path: "/*", explain: rightAddress },
].map((paths) => ({ ...paths, explained: openAiFailure }));

/** AI Gateway has its addresses below `/v1`, too: a refusal there without a reason is in the v4 envelope. */
export const openAiUnknown: readonly UnknownPaths[] = OPENAI.bases.flatMap((base) =>
	defineUnknown({ ...OPENAI, bases: [base], failure: base === V1 ? v4Failure : openAiFailure }, absent),
);

/** Every path that no other surface refuses. */
export const anyUnknown: readonly UnknownPaths[] = defineUnknown(
	{ bases: [{ path: "" }], tag: "", failure: v4Failure },
	[{ path: "*", explain: rightAddress, explained: openAiFailure }],
);
