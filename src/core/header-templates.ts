/**
 * Headers that many responses share. The creation of headers from an object costs several times as much as a copy, and a response
 * copies its headers. Therefore responses with the same names use one object, and only the values of each response are set.
 */
import { BoundedMap } from "./bounded-map.ts";

/** At this number all are dropped. Callers may choose values, such as names of models. */
const MAX_TEMPLATES = 100;

export class HeaderTemplates {
	readonly #made = new BoundedMap<string, Headers>(MAX_TEMPLATES);

	/**
	 * The headers to copy, before the next call. `key`: determines the values of `fixed` and the names of `own`. `own`: the headers of
	 * this response alone. All of them are set again in each call, so no response gets a value of another one.
	 */
	fill(key: string, fixed: () => Record<string, string>, own: Readonly<Record<string, string>>): Headers {
		const existing = this.#made.get(key);
		const headers = existing ?? new Headers(fixed());
		for (const name in own) headers.set(name, own[name] ?? "");
		if (existing) return headers;
		this.#made.set(key, headers);
		return headers;
	}
}
