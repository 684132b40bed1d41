/** How a method of a model is called: its address, and the key in Google's own header. */
import type { Call } from "../transport/upstream-failure.ts";
import { refusalOf } from "./refusal.ts";

const KEY_HEADER = "x-goog-api-key";
const DEFAULT_VERSION = "/v1beta";
const NAMES_VERSION = /\/v\d+(?:alpha|beta)?\d*$/;

/** The path of a method. The name of a model is one segment, whatever is in it. */
export function pathOf({ target }: Call, method: string): string {
	const version = NAMES_VERSION.test(target.url) ? "" : DEFAULT_VERSION;
	return `${version}/${resourceOf(target.model, encodeURIComponent)}:${method}`;
}

/** `models/gemini-2.5-flash`, as bodies name a model. */
export const resourceOf = (model: string, write: (name: string) => string = String): string =>
	`models/${write(model.replace(/^models\//, ""))}`;

/** The same call as Google wants it. A key that is a header is kept out of sentences as well as any. */
export function googleCall(call: Call): Call {
	const { key, ...target } = call.target;
	const headers = key === undefined ? target.headers : { ...target.headers, [KEY_HEADER]: key };
	return {
		...call,
		target: { ...target, headers },
		refusal: (refusal) => refusalOf(target, refusal),
	};
}
