/**
 * A router that remembers what it found. The same few paths are asked for again and again, and a walk through all
 * routes takes longer than everything else that an app does for a request. What is found depends on the path alone.
 */
import type { Result, Router } from "hono/router";
import { TrieRouter } from "hono/router/trie-router";

/** Models times accounts, of one isolate. When there are more, all are forgotten. */
const MAX_REMEMBERED = 1_000;
/** Longer ones are no route's. */
const MAX_PATH_CHARACTERS = 256;

export class RememberingRouter<T> implements Router<T> {
	readonly name = "RememberingRouter";
	readonly #router = new TrieRouter<T>();
	readonly #found = new Map<string, Result<T>>();

	add(method: string, path: string, handler: T): void {
		this.#found.clear();
		this.#router.add(method, path, handler);
	}

	match(method: string, path: string): Result<T> {
		const key = `${method} ${path}`;
		const known = this.#found.get(key);
		if (known) return known;
		const found = this.#router.match(method, path);
		if (path.length > MAX_PATH_CHARACTERS) return found;
		if (this.#found.size >= MAX_REMEMBERED) this.#found.clear();
		this.#found.set(key, found);
		return found;
	}
}
