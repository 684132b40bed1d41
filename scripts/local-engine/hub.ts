/**
 * A hub with the API of huggingface.co (https://huggingface.co/docs/hub/api), or a mirror of it. Its answers are not trusted: names and
 * addresses come from the table, and a file counts only if its size and its hash are those of the manifest.
 */
import * as z from "zod";
import { parseJson } from "../../src/core/json.ts";
import type { HubConnection } from "./hub-connection.ts";
import { HUB_SETTING, type OpenFile, type Source, unavailable } from "./source.ts";
import type { Manifest, StoredFile } from "./store.ts";
import { GitBlob, Revision, Sha256, type Weights } from "./table.ts";

/** The longest time of a list of files. */
const LIST_MS = 60_000;
/** Of a list of files. */
const MAX_LIST_BYTES = 8 * 1024 * 1024;
const MAX_NAMES = 12;
/** A name that a message can show: others could write on the terminal. */
const SHOWN_NAME = /^[\w./-]{1,100}\.(?:gguf|onnx)$/i;

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

export class HubSource implements Source {
	readonly name: string;
	readonly #connection: HubConnection;

	constructor(connection: HubConnection) {
		this.name = connection.host;
		this.#connection = connection;
	}

	async manifestOf(weights: Weights, signal: AbortSignal): Promise<Manifest> {
		const { repository, revision, files } = weights;
		const pinned = files.flatMap(({ name, size, sha256 }) =>
			size && sha256 ? [{ name, size, sha256 }] : [],
		);
		if (revision !== undefined && pinned.length === files.length)
			return { repository, revision, files: pinned };
		const path = `/api/models/${repository}/revision/${revision ?? "main"}?blobs=true`;
		const problem = `The hub ${this.name} has no usable list of the files of ${repository}`;
		const abort = abortedBy(signal);
		const file = named(files[0]?.name ?? "", repository);
		const late = unavailable(`${problem} after ${LIST_MS / 1_000} s (${HUB_SETTING})`);
		const timer = setTimeout(() => abort.abort(late), LIST_MS);
		let text: string;
		try {
			const response = await this.#connection.get(path, file, {}, abort);
			text = await textOf(this.#connection.pieces(response, file, abort), problem);
		} finally {
			clearTimeout(timer);
		}
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
					.filter((one) => SHOWN_NAME.test(one));
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
		const name = named(file.name, repository);
		const abort = abortedBy(signal);
		const range: Record<string, string> = from > 0 ? { range: `bytes=${from}-` } : {};
		const response = await this.#connection.get(
			path,
			name,
			{ ...range, "accept-encoding": "identity" },
			abort,
		);
		const isPart = response.status === 206;
		const start = /^bytes (\d+)-/.exec(response.headers.get("content-range") ?? "")?.[1];
		if (isPart && Number(start) !== from)
			throw unavailable(`The hub ${this.name} sent another part of ${name}`);
		return { from: isPart ? from : 0, bytes: this.#connection.pieces(response, name, abort) };
	}
}

/** A controller that also fires with `signal`. The connection aborts it when the hub is silent. */
function abortedBy(signal: AbortSignal): AbortController {
	const abort = new AbortController();
	const stop = (): void => abort.abort(signal.reason);
	if (signal.aborted) stop();
	else signal.addEventListener("abort", stop, { once: true });
	return abort;
}

/** For messages. Many repositories have files of the same names, such as `config.json`. */
const named = (file: string, repository: string): string => `${file} of ${repository}`;

async function textOf(pieces: AsyncIterable<Uint8Array>, problem: string): Promise<string> {
	const decoder = new TextDecoder();
	let text = "";
	for await (const piece of pieces) {
		text += decoder.decode(piece, { stream: true });
		if (text.length > MAX_LIST_BYTES) throw unavailable(`${problem} (${HUB_SETTING})`);
	}
	return text;
}
