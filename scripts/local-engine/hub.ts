/**
 * Where weights come from: a hub with the API of huggingface.co (https://huggingface.co/docs/hub/api), a mirror of it, or a folder with
 * `{owner}/{repository}/{file}` or the cache of the hub's own tools (`models--{owner}--{repository}/snapshots/{revision}/{file}`).
 *
 * Answers of the hub are not trusted. Names and addresses come from the table, a redirect must stay encrypted, only the hub gets the
 * token, and a file counts only if its size and its hash are those of the manifest.
 */
import { createHash } from "node:crypto";
import { createReadStream, existsSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import * as z from "zod";
import { parseJson } from "../../src/core/json.ts";
import { LocalProblem } from "./problem.ts";
import type { Manifest, StoredFile } from "./store.ts";
import { GitBlob, Revision, Sha256, type Weights } from "./table.ts";

/** The environment variable with the hub: an address or a folder. */
const HUB_SETTING = "GANGLION_HUB";
const DEFAULT_HUB = "https://huggingface.co";
const TOKEN_SETTING = "HF_TOKEN";
/** Until an answer, and between two pieces of it. */
const SILENT_MS = 8_000;
const MAX_REDIRECTS = 5;
/** Of a list of files. */
const MAX_LIST_BYTES = 8 * 1024 * 1024;
/** The only folder of files whose revision is unknown. */
export const NO_REVISION = "folder";
const MAX_NAMES = 12;

/** The rest of a file. */
interface OpenFile {
	/** The position of its first byte. 0 if the source cannot start elsewhere. */
	from: number;
	bytes: AsyncIterable<Uint8Array>;
}

export interface Source {
	/** For messages. */
	name: string;
	/** Revision, sizes and hashes of the files of a row. */
	manifestOf(weights: Weights): Promise<Manifest>;
	open(manifest: Manifest, file: StoredFile, from: number, signal: AbortSignal): Promise<OpenFile>;
}

type Environment = Readonly<Record<string, string | undefined>>;

interface SourceOptions {
	fetch?: typeof fetch;
	silentMs?: number;
}

export function sourceOf(env: Environment, options: SourceOptions = {}): Source {
	const set = env[HUB_SETTING] || DEFAULT_HUB;
	if (!/^[a-z]+:\/\//i.test(set)) return new FolderSource(resolve(set));
	const url = addressIn(set);
	if (!url || !/^https?:$/.test(url.protocol))
		throw new LocalProblem(
			"weights_unavailable",
			`${HUB_SETTING}: expected an address that begins with https://, or a folder, found another text`,
		);
	return new HubSource(url, env[TOKEN_SETTING], options);
}

/** Node 20 has no `URL.parse`. */
const addressIn = (text: string, base?: string): URL | undefined =>
	URL.canParse(text, base) ? new URL(text, base) : undefined;

const unavailable = (message: string, cause?: unknown): LocalProblem =>
	new LocalProblem("weights_unavailable", message, { cause });

const Listing = z.object({
	sha: Revision,
	siblings: z
		.array(
			z.object({
				rfilename: z.string().max(1_000),
				size: z.int().nonnegative().nullish(),
				blobId: GitBlob.nullish(),
				lfs: z.object({ sha256: Sha256, size: z.int().positive() }).nullish(),
			}),
		)
		.max(10_000),
});

class HubSource implements Source {
	readonly name: string;
	readonly #base: string;
	readonly #origin: string;
	readonly #token: string | undefined;
	readonly #fetch: typeof fetch;
	readonly #silentMs: number;

	constructor(url: URL, token: string | undefined, options: SourceOptions) {
		this.name = url.host;
		this.#base = url.href.replace(/\/+$/, "");
		this.#origin = url.origin;
		this.#token = token;
		this.#fetch = options.fetch ?? fetch;
		this.#silentMs = options.silentMs ?? SILENT_MS;
	}

	async manifestOf(weights: Weights): Promise<Manifest> {
		const { repository, revision, files } = weights;
		const pinned = files.flatMap(({ name, size, sha256 }) =>
			size && sha256 ? [{ name, size, sha256 }] : [],
		);
		if (revision !== undefined && pinned.length === files.length)
			return { repository, revision, files: pinned };
		const path = `/api/models/${repository}/revision/${revision ?? "main"}?blobs=true`;
		const problem = `The hub ${this.name} has no usable list of the files of ${repository}`;
		const abort = new AbortController();
		const file = files[0]?.name ?? "";
		const response = await this.#get(path, file, {}, abort);
		const text = await this.#text(this.#pieces(response, file, abort), problem);
		const { data: listing } = Listing.safeParse(parseJson(text));
		if (!listing) throw unavailable(`${problem} (${HUB_SETTING})`);
		return {
			repository,
			revision: listing.sha,
			files: files.map(({ name }) => {
				const found = listing.siblings.find(({ rfilename }) => rfilename === name);
				if (found?.lfs) return { name, size: found.lfs.size, sha256: found.lfs.sha256 };
				if (found?.blobId && found.size) return { name, size: found.size, blob: found.blobId };
				const others = listing.siblings
					.map(({ rfilename }) => rfilename)
					.filter((one) => /\.(?:gguf|onnx)$/i.test(one));
				throw unavailable(
					found
						? `The hub ${this.name} states no hash of ${name} in ${repository}, so it cannot be checked`
						: `The hub ${this.name} has no file ${name} in ${repository}${others.length > 0 ? `; it has ${others.slice(0, MAX_NAMES).join(", ")}` : ""}`,
				);
			}),
		};
	}

	async open(
		{ repository, revision }: Manifest,
		file: StoredFile,
		from: number,
		signal: AbortSignal,
	): Promise<OpenFile> {
		const path = `/${repository}/resolve/${revision}/${file.name}`;
		const abort = new AbortController();
		const stop = (): void => abort.abort(signal.reason);
		if (signal.aborted) stop();
		else signal.addEventListener("abort", stop, { once: true });
		const range: Record<string, string> = from > 0 ? { range: `bytes=${from}-` } : {};
		const response = await this.#get(path, file.name, { ...range, "accept-encoding": "identity" }, abort);
		const isPart = response.status === 206;
		const start = /^bytes (\d+)-/.exec(response.headers.get("content-range") ?? "")?.[1];
		if (isPart && Number(start) !== from)
			throw unavailable(`The hub ${this.name} sent another part of ${file.name}`);
		return { from: isPart ? from : 0, bytes: this.#pieces(response, file.name, abort) };
	}

	/** Follows redirects. Throws a problem for each other answer that is not the file. */
	async #get(
		path: string,
		file: string,
		headers: Record<string, string>,
		abort: AbortController,
	): Promise<Response> {
		let url = this.#base + path;
		for (let count = 0; count <= MAX_REDIRECTS; count++) {
			const isHub = new URL(url).origin === this.#origin;
			const token: Record<string, string> =
				isHub && this.#token ? { authorization: `Bearer ${this.#token}` } : {};
			const response = await this.#send(url, file, { ...headers, ...token }, abort);
			if (response.status === 200 || response.status === 206) return response;
			void response.body?.cancel().catch(() => {});
			if (response.status < 300 || response.status >= 400) throw this.#refusal(response, file);
			const next = addressIn(response.headers.get("location") ?? "", url);
			// The files of a hub are at another host.
			if (!next || (next.protocol !== "https:" && next.origin !== this.#origin))
				throw unavailable(
					`The hub ${this.name} redirects ${file} to ${next ? next.host : "no address"}, which is not encrypted. ${CHOICES}`,
				);
			url = next.href;
		}
		throw unavailable(`The hub ${this.name} redirects ${file} too often. ${CHOICES}`);
	}

	async #send(
		url: string,
		file: string,
		headers: Record<string, string>,
		abort: AbortController,
	): Promise<Response> {
		const { host } = new URL(url);
		const silence = setTimeout(() => abort.abort(SILENCE), this.#silentMs);
		try {
			return await this.#fetch(url, { headers, redirect: "manual", signal: abort.signal });
		} catch (error) {
			throw this.#unreachable(host, file, error, abort);
		} finally {
			clearTimeout(silence);
		}
	}

	#unreachable(host: string, file: string, error: unknown, abort: AbortController): unknown {
		if (abort.signal.aborted && abort.signal.reason !== SILENCE) return error;
		const reason =
			abort.signal.reason === SILENCE
				? `was silent for ${this.#silentMs / 1_000} s`
				: `cannot be reached (${causeOf(error)})`;
		return unavailable(`${host} ${reason}, so ${file} is missing. ${CHOICES}`, error);
	}

	#refusal(response: Response, file: string): LocalProblem {
		const { status, headers } = response;
		const isGated = status === 401 || status === 403;
		if (isGated)
			return unavailable(
				`The hub ${this.name} gives ${file} only to accounts that may read it (HTTP ${status}): set ${TOKEN_SETTING} to a token of yours. ${CHOICES}`,
			);
		const seconds = Number(headers.get("retry-after"));
		const wait = status === 429 && seconds > 0 ? ` Try again in ${Math.ceil(seconds)} s.` : "";
		return unavailable(`The hub ${this.name} refused ${file} with HTTP ${status}.${wait} ${CHOICES}`);
	}

	async *#pieces(response: Response, file: string, abort: AbortController): AsyncGenerator<Uint8Array> {
		if (!response.body) return;
		const { host } = new URL(response.url || this.#base);
		let silence: NodeJS.Timeout | undefined;
		const wait = (): void => {
			clearTimeout(silence);
			silence = setTimeout(() => abort.abort(SILENCE), this.#silentMs);
		};
		try {
			wait();
			for await (const piece of response.body) {
				// A slow disk is no silence of the hub.
				clearTimeout(silence);
				yield piece;
				wait();
			}
		} catch (error) {
			throw error instanceof LocalProblem ? error : this.#unreachable(host, file, error, abort);
		} finally {
			clearTimeout(silence);
			abort.abort();
		}
	}

	async #text(pieces: AsyncIterable<Uint8Array>, problem: string): Promise<string> {
		const decoder = new TextDecoder();
		let text = "";
		for await (const piece of pieces) {
			text += decoder.decode(piece, { stream: true });
			if (text.length > MAX_LIST_BYTES) throw unavailable(`${problem} (${HUB_SETTING})`);
		}
		return text;
	}
}

const SILENCE = Symbol("silence");
const CHOICES = `${HUB_SETTING} names a mirror, or a folder with the files.`;

function causeOf(error: unknown): string {
	const cause = error instanceof Error ? (error.cause ?? error) : error;
	if (cause instanceof Error)
		return "code" in cause && typeof cause.code === "string" ? cause.code : cause.message;
	return String(cause);
}

class FolderSource implements Source {
	readonly name: string;

	constructor(folder: string) {
		this.name = folder;
	}

	async manifestOf({ repository, files }: Weights): Promise<Manifest> {
		const stored = files.map(async ({ name, sha256 }): Promise<StoredFile> => {
			const { path } = this.#find(repository, name);
			const size = statSync(path).size;
			if (size === 0) throw unavailable(`${path} is empty`);
			const hash = createHash("sha256");
			for await (const piece of createReadStream(path)) hash.update(piece);
			return { name, size, sha256: sha256 ?? hash.digest("hex") };
		});
		const complete = await Promise.all(stored);
		return { repository, revision: this.#find(repository, files[0]?.name ?? "").revision, files: complete };
	}

	async open(
		{ repository }: Manifest,
		{ name }: StoredFile,
		from: number,
		signal: AbortSignal,
	): Promise<OpenFile> {
		const { path } = this.#find(repository, name);
		return { from, bytes: createReadStream(path, { start: from, signal }) };
	}

	#find(repository: string, file: string): { path: string; revision: string } {
		const plain = join(this.name, repository, file);
		if (existsSync(plain)) return { path: plain, revision: NO_REVISION };
		const snapshots = join(this.name, `models--${repository.replace("/", "--")}`, "snapshots");
		const revisions = existsSync(snapshots) ? readdirSync(snapshots) : [];
		for (const revision of revisions) {
			const path = join(snapshots, revision, file);
			if (Revision.safeParse(revision).success && existsSync(path)) return { path, revision };
		}
		throw unavailable(`The folder ${this.name} has no ${join(repository, file)} (${HUB_SETTING})`);
	}
}
