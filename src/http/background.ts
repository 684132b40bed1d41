/**
 * What goes on behind the answers of one isolate: requests that are not settled yet, settlements on their way. A platform
 * keeps a Worker until that is done; a process that is told to stop has to ask (`surfaces/drain.ts`).
 */

/** What ends may begin something else a moment later: a request that is settled, the way of its settlement. */
const REST_MS = 250;
const LOOK_MS = 25;

export interface BackgroundWorld {
	now(): number;
	wait(milliseconds: number): Promise<void>;
	waitUntil(work: Promise<unknown>): void;
}

export class Background {
	readonly #world: BackgroundWorld;
	#underWay = 0;
	#closed = false;

	constructor(world: BackgroundWorld) {
		this.#world = world;
	}

	/** Keeps the context of the request alive that is running now. */
	readonly waitUntil = (work: Promise<unknown>): void => {
		this.#world.waitUntil(work);
		this.#underWay++;
		const end = (): void => {
			this.#underWay--;
		};
		work.then(end, end);
	};

	/** Whether nothing new is to be let in. */
	get isClosed(): boolean {
		return this.#closed;
	}

	/** Requests that are not settled yet, and what else goes on behind answers. */
	get size(): number {
		return this.#underWay;
	}

	close(): void {
		this.#closed = true;
	}

	/** Resolves when nothing has been under way for a moment. */
	async rest(): Promise<void> {
		const { now, wait } = this.#world;
		for (let since = now(); now() - since < REST_MS; ) {
			await wait(LOOK_MS);
			if (this.#underWay > 0) since = now();
		}
	}
}
