/** The weights of this machine, for requests: which are present, which are being downloaded, and how a missing one gets here. */
import { LocalProblem } from "./problem.ts";
import { type Progress, percentOf, sizeText, timeText } from "./progress.ts";
import { pullWeights } from "./pull.ts";
import type { Source } from "./source.ts";
import { allPresent, type Manifest, type PresentWeights, presentWeights } from "./store.ts";
import { approximateSize, WEIGHTS, type Weights } from "./table.ts";

interface LibraryOptions {
	folder: string;
	/** Missing weights are downloaded at their first use. */
	pulls: boolean;
	source(): Source;
	/** What the project's lock names, by the name of the weights. */
	locked: ReadonlyMap<string, Manifest>;
	/** Called when files of weights have come or gone, with all that are present. */
	changed(present: readonly PresentWeights[]): Promise<void>;
	log(line: string): void;
}

interface Pull {
	progress: Progress;
	ended: Promise<PresentWeights>;
	abort: AbortController;
}

/** A row of the table on this machine. */
export interface LibraryRow {
	weights: Weights;
	present?: PresentWeights;
	progress?: Progress;
}

/** Longest time that a request waits for a download. Shorter than the gateway's limit for an answer. */
export const HOLD_MS = 45_000;
const MAX_RETRY_SECONDS = 60;

export class Library {
	readonly #options: LibraryOptions;
	readonly #pulls = new Map<string, Pull>();
	#present: readonly PresentWeights[];

	constructor(options: LibraryOptions) {
		this.#options = options;
		this.#present = allPresent(options.folder);
	}

	get folder(): string {
		return this.#options.folder;
	}

	/** What llama-server knows. */
	get present(): readonly PresentWeights[] {
		return this.#present;
	}

	/** Reads the folder again, because other processes change it too. */
	async refresh(): Promise<void> {
		const before = this.#present.map(keyOf).join();
		this.#present = allPresent(this.folder);
		if (this.#present.map(keyOf).join() !== before) await this.#options.changed(this.#present);
	}

	rows(): LibraryRow[] {
		return WEIGHTS.map((weights) => {
			const present = presentWeights(this.folder, weights);
			const progress = this.#pulls.get(weights.name)?.progress;
			return { weights, ...(present && { present }), ...(progress && { progress }) };
		});
	}

	/** Resolves when the files are present, or throws a problem that says why they are not. */
	async require(weights: Weights, signal: AbortSignal): Promise<PresentWeights> {
		const known = this.#find(weights);
		if (known) return known;
		if (presentWeights(this.folder, weights)) await this.refresh();
		else if (this.#options.pulls || this.#pulls.has(weights.name)) await this.#hold(weights, signal);
		const present = this.#find(weights);
		if (present) return present;
		throw missing(weights);
	}

	#find = (weights: Weights): PresentWeights | undefined =>
		this.#present.find((one) => one.weights === weights);

	/** Waits for a download, but not longer than a caller does. */
	async #hold(weights: Weights, signal: AbortSignal): Promise<void> {
		const { name } = weights;
		const { ended } = this.pull(weights);
		let timer: NodeJS.Timeout | undefined;
		const held = new Promise<void>((resolve) => {
			timer = setTimeout(resolve, HOLD_MS);
			signal.addEventListener("abort", () => resolve(), { once: true });
		});
		await Promise.race([ended, held]).finally(() => clearTimeout(timer));
		const progress = this.#pulls.get(name)?.progress;
		if (progress) throw downloading(name, progress);
	}

	/** Starts a download, or returns the one that runs. A licence that asks for it must have been accepted. */
	pull(weights: Weights, { accepts = false } = {}): Pull {
		const { name } = weights;
		const running = this.#pulls.get(name);
		if (running) return running;
		const { folder, source, locked, log } = this.#options;
		const abort = new AbortController();
		let isAnnounced = false;
		const started = (async () => {
			const present = await pullWeights(weights, {
				...{ folder, signal: abort.signal, source: source(), locked: locked.get(name) },
				accept: () => accepts,
				report(progress) {
					if (!isAnnounced) log(`${name} is being downloaded (${sizeText(progress.total)})`);
					isAnnounced = true;
					pull.progress = progress;
				},
			});
			await this.refresh();
			log(`${name} is complete (${sizeText(present.size)})`);
			return present;
		})();
		const pull: Pull = {
			abort,
			ended: started.finally(() => this.#pulls.delete(name)),
			progress: { done: 0, total: approximateSize(weights), perSecond: 0 },
		};
		this.#pulls.set(name, pull);
		pull.ended.catch((error: unknown) => {
			if (!abort.signal.aborted) log(error instanceof Error ? error.message : String(error));
		});
		return pull;
	}

	/** Resolves when the download has ended. */
	async cancel({ name }: Weights): Promise<void> {
		const pull = this.#pulls.get(name);
		pull?.abort.abort();
		await pull?.ended.catch(() => {});
	}

	close(): void {
		for (const { abort } of this.#pulls.values()) abort.abort();
	}
}

const keyOf = ({ weights, manifest }: PresentWeights): string => `${weights.name}@${manifest.revision}`;

const missing = (weights: Weights): LocalProblem =>
	new LocalProblem(
		"weights_missing",
		`The weights of ${weights.name} are not on this machine: run \`npx ganglion models pull ${weights.name}\` (about ${sizeText(approximateSize(weights))}), or start with --pull (plugin: "pull": true) to download weights at their first use`,
	);

function downloading(name: string, progress: Progress): LocalProblem {
	const { done, total, secondsLeft } = progress;
	const left = secondsLeft === undefined ? "" : `, ${timeText(secondsLeft)} left`;
	return new LocalProblem(
		"weights_downloading",
		`The weights of ${name} are being downloaded: ${percentOf(progress)} % of ${sizeText(total)} (${sizeText(done)})${left}. Try again then`,
		{ retryAfter: Math.min(secondsLeft ?? MAX_RETRY_SECONDS, MAX_RETRY_SECONDS) },
	);
}
