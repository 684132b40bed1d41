/** Addresses of a model at the local engine. */
import type { Target } from "../backend.ts";
import type { Call } from "../transport/upstream-failure.ts";

const VERSION = "/v1";

/** Not a segment of its own: a model named ".." would lead elsewhere. */
const MODEL = "/model:";

/** OpenAI's routes of a model. */
export const addressOf = ({ url }: Pick<Target, "url">, model: string): string =>
	`${url.replace(/\/model:[^/]+\/v1$/, "")}${MODEL}${encodeURIComponent(model)}${VERSION}`;

/** The same call of another section of llama-server. */
export const withModel = (call: Call, model: string): Call => ({
	...call,
	target: { ...call.target, model, url: addressOf(call.target, model) },
});

/** llama-server's own routes of the model. */
export const withoutVersion = (call: Call): Call => ({
	...call,
	target: { ...call.target, url: call.target.url.slice(0, -VERSION.length) },
});
