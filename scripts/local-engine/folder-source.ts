/**
 * Weights of a folder: `{owner}/{repository}/{file}`, or the cache of the hub's own tools
 * (`models--{owner}--{repository}/snapshots/{revision}/{file}`).
 */
import { createHash } from "node:crypto";
import { createReadStream, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { HUB_SETTING, type OpenFile, type Source, unavailable } from "./source.ts";
import type { Manifest, StoredFile } from "./store.ts";
import { Revision, type Weights } from "./table.ts";

/** The only folder of files whose revision is unknown. */
export const NO_REVISION = "folder";

export class FolderSource implements Source {
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
