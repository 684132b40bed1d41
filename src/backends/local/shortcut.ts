/**
 * Calls of the process that has a model, past the address of the local engine. That address names the process in its answers, and is called
 * again if the process does not answer: the model was unloaded, or has ended.
 */
import { hasPassed } from "../../core/elapsed.ts";
import type { BackendServices } from "../backend.ts";

type Fetch = BackendServices["fetch"];

/** Of an answer of the local engine (`scripts/local-engine/door.ts`). */
const ADDRESS_HEADER = "x-ganglion-engine";
const LOOPBACK = /^http:\/\/127\.0\.0\.1:\d{1,5}$/;
const ON_MODEL = /^(http:\/\/127\.0\.0\.1:\d{1,5}\/model:[^/]+)(\/.+)$/;
/** Another program has the port, or the model is being loaded. */
const NOT_READY: ReadonlySet<number> = new Set([401, 503]);

/**
 * llama-server keeps an idle connection as long. Later the process of another model may have the port, and it would answer, because it does not
 * read the name of the model.
 */
const KNOWN_MS = 5_000;

interface Known {
	origin: string;
	/** When the local engine named it. */
	at: number;
}

/** By the address of the model at the local engine, which knows the models of this machine only. */
const origins = new Map<string, Known>();

export const shortcut =
	({ fetch, now }: Pick<BackendServices, "fetch" | "now">): Fetch =>
	async (input, init) => {
		const [, model, path] = ON_MODEL.exec(String(input)) ?? [];
		if (model === undefined) return fetch(input, init);
		const { origin, at = 0 } = origins.get(model) ?? {};
		if (origin !== undefined && !hasPassed(KNOWN_MS, at, now())) {
			try {
				const response = await fetch(`${origin}${path}`, init);
				if (!NOT_READY.has(response.status)) return response;
				await response.body?.cancel();
			} catch (error) {
				if (init?.signal?.aborted) throw error;
			}
			origins.delete(model);
		}
		const response = await fetch(input, init);
		const named = response.headers.get(ADDRESS_HEADER);
		if (named !== null && LOOPBACK.test(named)) origins.set(model, { origin: named, at: now() });
		return response;
	};
