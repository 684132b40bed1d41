/**
 * Headers of the runtime for many responses. To make them from an object costs the runtime several times as much as to copy them, and a
 * response copies its headers. So those with the same names are one object, in which only the values of a response are changed.
 */

/** At the bound all are dropped. Callers may choose values, such as names of models. */
const MAX_TEMPLATES = 100;

export class HeaderTemplates {
	readonly #made = new Map<string, Headers>();

	/**
	 * The headers to copy, before the next call. `key`: stands for the values of `fixed` and the names of `own`. `own`: the headers of this
	 * response alone.
	 */
	fill(key: string, fixed: () => Record<string, string>, own: Readonly<Record<string, string>>): Headers {
		const existing = this.#made.get(key);
		const headers = existing ?? new Headers(fixed());
		for (const name in own) headers.set(name, own[name] ?? "");
		if (existing) return headers;
		if (this.#made.size >= MAX_TEMPLATES) this.#made.clear();
		this.#made.set(key, headers);
		return headers;
	}
}
