/**
 * Replicas that a service of the operator lists (`pool.discover`). Each isolate reads the list in the background of requests. Its
 * first request waits for it. If the list cannot be read, or has a mistake, the latest one stays in use.
 */
import * as z from "zod";
import { parseJson } from "../core/json.ts";

export interface DiscoverSettings {
	url: string;
	/** Added to an address without a path. */
	path: string;
	refreshMs: number;
}

export interface DiscoveryServices {
	now(): number;
	wait(milliseconds: number): Promise<void>;
	waitUntil(work: Promise<unknown>): void;
	/** Returns nothing if the service does not answer with a text. */
	read(url: string): Promise<string | undefined>;
}

const MAX_REPLICAS = 2_000;
/** A request waits this long for the first list. */
const MAX_WAIT_MS = 2_000;
/** After a failure, and for a read that belonged to a request that has ended. */
const RETRY_MS = 5_000;

const Address = z.union([z.string(), z.object({ url: z.string() }).transform(({ url }) => url)]);
/**
 * Addresses, or objects with an `url`, as a list or below `replicas` or `workers` (SGLang's router); or Prometheus's HTTP service
 * discovery, whose targets have no scheme: https://prometheus.io/docs/prometheus/latest/http_sd/
 */
const List = z.union([
	z.array(Address),
	z.object({ replicas: z.array(Address) }).transform(({ replicas }) => replicas),
	z.object({ workers: z.array(Address) }).transform(({ workers }) => workers),
	z
		.array(z.object({ targets: z.array(z.string()) }))
		.transform((groups) => groups.flatMap(({ targets }) => targets.map((target) => `http://${target}`))),
]);

/** The addresses of a list, without repetitions. Returns nothing if the list or one of its addresses is malformed. */
export function parseReplicaList(text: string, path: string): string[] | undefined {
	const parsed = List.safeParse(parseJson(text));
	if (!parsed.success || parsed.data.length > MAX_REPLICAS) return undefined;
	const urls = parsed.data.map((address) => baseUrl(address, path));
	const valid = urls.filter((url) => url !== undefined);
	return valid.length === urls.length ? [...new Set(valid)] : undefined;
}

function baseUrl(address: string, path: string): string | undefined {
	const url = URL.parse(address);
	if (!url || !/^https?:$/.test(url.protocol)) return undefined;
	if (url.username || url.password || url.search || url.hash) return undefined;
	return `${url.origin}${url.pathname === "/" ? path : url.pathname}`.replace(/\/+$/, "");
}

interface Discovered {
	urls?: readonly string[];
	/** The next read, at the earliest. */
	dueAt: number;
}

export class Discoveries {
	readonly #services: DiscoveryServices;
	readonly #backends = new Map<string, Discovered>();

	constructor(services: DiscoveryServices) {
		this.#services = services;
	}

	/** The latest list of a backend. The same array until it changes. Absent: none has been read. */
	of(backend: string): readonly string[] | undefined {
		return this.#backends.get(backend)?.urls;
	}

	/** Reads the list if it is due. Returns nothing if the request need not wait. Never rejects. */
	refresh(backend: string, settings: DiscoverSettings): Promise<void> | undefined {
		const { now, wait, waitUntil } = this.#services;
		const existing = this.#backends.get(backend);
		const at = now();
		if (existing && at < existing.dueAt && existing.urls) return undefined;
		const state: Discovered = existing ?? { dueAt: at };
		this.#backends.set(backend, state);
		// Without a list, each request reads, but after a failure only one of them in `RETRY_MS`.
		if (at < state.dueAt) return undefined;
		if (state.urls) state.dueAt = at + RETRY_MS;
		const read = this.#read(state, settings);
		waitUntil(read);
		return state.urls ? undefined : Promise.race([read, wait(MAX_WAIT_MS).catch(() => {})]);
	}

	/** Reads the list, also if it is not due. Never rejects. */
	async refreshNow(backend: string, settings: DiscoverSettings): Promise<void> {
		const state = this.#backends.get(backend) ?? { dueAt: this.#services.now() };
		this.#backends.set(backend, state);
		await this.#read(state, settings);
	}

	async #read(state: Discovered, { url, path, refreshMs }: DiscoverSettings): Promise<void> {
		const { now, read } = this.#services;
		const text = await read(url).catch(() => undefined);
		const urls = text === undefined ? undefined : parseReplicaList(text, path);
		state.dueAt = now() + (urls ? refreshMs : Math.min(RETRY_MS, refreshMs));
		if (urls && JSON.stringify(urls) !== JSON.stringify(state.urls)) state.urls = urls;
	}
}
