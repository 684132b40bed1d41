/** The progress of a download: bytes, speed and time left, as data and for a terminal. */

export interface Progress {
	/** Bytes that are on the disk. */
	done: number;
	/** Bytes. */
	total: number;
	/** Bytes. 0 until it is known. */
	perSecond: number;
	/** Absent until the speed is known. */
	secondsLeft?: number;
}

/** Milliseconds over which the speed is measured. */
const WINDOW_MS = 5_000;
const SAMPLE_MS = 250;

/** Counts the bytes of a download. */
export class ProgressMeter {
	readonly #total: number;
	readonly #now: () => number;
	#done: number;
	#samples: { at: number; done: number }[];

	/** `done`: bytes of an earlier download, which do not count for the speed. */
	constructor(total: number, done: number, now: () => number = Date.now) {
		this.#total = total;
		this.#done = done;
		this.#now = now;
		this.#samples = [{ at: now(), done }];
	}

	/** `done` may be less than before: a part was not usable. */
	report(done: number): void {
		const at = this.#now();
		if (done < this.#done) this.#samples = [{ at, done }];
		this.#done = done;
		const latest = this.#samples.at(-1);
		if (latest && at - latest.at < SAMPLE_MS) return;
		this.#samples.push({ at, done });
		while (this.#samples.length > 2 && at - (this.#samples[1]?.at ?? at) >= WINDOW_MS) this.#samples.shift();
	}

	read(): Progress {
		const [first] = this.#samples;
		const milliseconds = first ? this.#now() - first.at : 0;
		const perSecond =
			first && milliseconds >= SAMPLE_MS ? ((this.#done - first.done) * 1_000) / milliseconds : 0;
		const progress = { done: this.#done, total: this.#total, perSecond: Math.round(perSecond) };
		if (perSecond <= 0) return progress;
		return { ...progress, secondsLeft: Math.ceil((this.#total - this.#done) / perSecond) };
	}
}

const UNITS = ["B", "kB", "MB", "GB", "TB"];
const STEP = 1_000;

/** `808 MB`: decimal units, as the hub shows them. */
export function sizeText(bytes: number): string {
	let value = bytes;
	let unit = 0;
	while (value >= STEP && unit < UNITS.length - 1) {
		value /= STEP;
		unit += 1;
	}
	return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

export function timeText(seconds: number): string {
	if (seconds < 60) return `${seconds} s`;
	const minutes = Math.floor(seconds / 60);
	return minutes < 60
		? `${minutes} min ${seconds % 60} s`
		: `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export const percentOf = ({ done, total }: Progress): number => Math.floor((done * 100) / total);

/** `43 %  348 MB of 808 MB  12.1 MB/s  38 s left` */
export function progressText(progress: Progress): string {
	const { done, total, perSecond, secondsLeft } = progress;
	const speed = perSecond > 0 ? `  ${sizeText(perSecond)}/s` : "";
	const left = secondsLeft !== undefined ? `  ${timeText(secondsLeft)} left` : "";
	return `${percentOf(progress)} %  ${sizeText(done)} of ${sizeText(total)}${speed}${left}`;
}

const BAR_CHARS = 24;
/** Percent between two lines of an output that is no terminal. */
const LINE_PERCENT = 10;
const REDRAW_MS = 100;

interface Terminal {
	isTTY?: boolean;
	columns?: number;
	write(text: string): unknown;
}

/** Draws a bar that replaces itself. Elsewhere it prints a line for each ten percent. */
export class ProgressBar {
	readonly #name: string;
	readonly #terminal: Terminal;
	#drawnAt = 0;
	#printed = -LINE_PERCENT;

	constructor(name: string, terminal: Terminal) {
		this.#name = name;
		this.#terminal = terminal;
	}

	draw(progress: Progress, now = Date.now()): void {
		const percent = percentOf(progress);
		if (!this.#terminal.isTTY) {
			if (percent < this.#printed + LINE_PERCENT) return;
			this.#printed = percent - (percent % LINE_PERCENT);
			this.#terminal.write(`${this.#name}  ${progressText(progress)}\n`);
			return;
		}
		if (now - this.#drawnAt < REDRAW_MS && progress.done < progress.total) return;
		this.#drawnAt = now;
		const filled = Math.round((percent * BAR_CHARS) / 100);
		const bar = `${"█".repeat(filled)}${"░".repeat(BAR_CHARS - filled)}`;
		const line = `${this.#name}  ${bar}  ${progressText(progress)}`;
		this.#terminal.write(`\r\x1b[2K${line.slice(0, (this.#terminal.columns ?? 80) - 1)}`);
	}

	/** The following text begins on a new line. */
	end(): void {
		if (this.#terminal.isTTY && this.#drawnAt > 0) this.#terminal.write("\n");
	}
}
