/** The address of a method, and Google's header for the key. */
import type { Call } from "../transport/upstream-failure.ts";
import { refusalOf } from "./refusal.ts";

const KEY_HEADER = "x-goog-api-key";
const DEFAULT_VERSION = "/v1beta";
const NAMES_VERSION = /\/v\d+(?:alpha|beta)?\d*$/;

/** The path of a method. The name of the model is encoded as one segment. */
export function pathOf({ target }: Call, method: string): string {
	const version = NAMES_VERSION.test(target.url) ? "" : DEFAULT_VERSION;
	return `${version}/${resourceOf(target.model, encodeURIComponent)}:${method}`;
}

/** The name of a model in bodies: `models/gemini-2.5-flash`. */
export const resourceOf = (model: string, write: (name: string) => string = String): string =>
	`models/${write(model.replace(/^models\//, ""))}`;

/** Moves the key to Google's header. It stays a secret: header values are removed from messages, too. */
export function googleCall(call: Call): Call {
	const { key, ...target } = call.target;
	const headers = key === undefined ? target.headers : { ...target.headers, [KEY_HEADER]: key };
	return {
		...call,
		target: { ...target, headers },
		refusal: (refusal) => refusalOf(target, refusal),
	};
}
