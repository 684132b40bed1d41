/** A file of recordings, and what this session has recorded for it. */
import { hasPassed } from "../../src/core/elapsed.ts";
import {
	type Answer,
	type Call,
	keyOf,
	type Recording,
	readRecordings,
	writeRecordings,
} from "./recording-file.ts";

/** Files by name. */
export interface RecordingStore {
	/** A text that changes with the file: its time and its size. `undefined`: no such file. */
	stamp(name: string): Promise<string | undefined>;
	/** `undefined`: no such file. */
	read(name: string): Promise<string | undefined>;
	write(name: string, text: string): Promise<void>;
	/** The file may be gone. */
	remove(name: string): Promise<void>;
}

export interface FileParts {
	store: RecordingStore;
	/** Milliseconds. */
	now(): number;
	wait(milliseconds: number): Promise<void>;
}

/** The answers of equal calls, by their place among these calls. */
export type RecordedAnswers = Map<number, Answer>;

/** By key. */
type Recordings = ReadonlyMap<string, Recording>;

/** A caller that waits for the write of another one looks again after this time. */
const WAIT_MS = 5;
/** Its writer has ended without an end of its write: the runtime ends the work of a request whose caller has left. */
const LOST_MS = 2_000;

export class RecordedFile {
	readonly name: string;
	readonly #parts: FileParts;
	/** The recordings of the file with this stamp. `undefined`: the file must be read. */
	#known: { stamp: string | undefined; recordings: Recordings } | undefined;
	/** By key. They have precedence over the file. */
	readonly #recorded = new Map<string, { call: Call; answers: RecordedAnswers }>();
	/** Tests whose earlier recordings are dropped when the first of their calls is recorded. */
	readonly #restarted = new Set<string>();
	/** Tests whose earlier recordings are dropped by the next write. */
	readonly #dropped = new Set<string>();
	/** Keys that were recorded or have answered since the last report about the file. */
	readonly #used = new Set<string>();
	/** Counts the changes. */
	#version = 0;
	/** The version that was written last. */
	#written = 0;
	/** Writes without an end. */
	#writing = 0;
	/** The write that others wait for. */
	#current: { beganAt: number } | undefined;

	constructor(name: string, parts: FileParts) {
		this.name = name;
		this.#parts = parts;
	}

	/**
	 * A person may have changed the file. A change within the same second that keeps the size is not noticed, unless `again`. Throws if it is
	 * not a file of recordings.
	 */
	async read(again = false): Promise<Recordings> {
		const { store } = this.#parts;
		// Before the text, so that a later change is noticed.
		const stamp = await store.stamp(this.name);
		if (!again && this.#known && this.#known.stamp === stamp) return this.#known.recordings;
		const text = stamp === undefined ? undefined : await store.read(this.name);
		const list = text === undefined ? [] : readRecordings(text);
		const recordings = new Map(list.map((recording) => [keyOf(recording), recording]));
		this.#known = { stamp, recordings };
		return recordings;
	}

	/** The recording has answered a call. */
	use(key: string): void {
		this.#used.add(key);
	}

	/** The first call of the test that is recorded drops its earlier recordings. */
	restart(test: string): void {
		this.#restarted.add(test);
	}

	#drop(test: string): void {
		for (const [key, { call }] of this.#recorded) if (call.test === test) this.#recorded.delete(key);
		this.#dropped.add(test);
	}

	/**
	 * Parallel callers share a write. None waits for a promise of another one: the runtime ends the work of a request whose caller has left.
	 * An earlier text may then arrive after a later one, so that its caller writes again.
	 */
	async record(call: Call, answers: RecordedAnswers): Promise<void> {
		if (call.test !== undefined && this.#restarted.delete(call.test)) this.#drop(call.test);
		const key = keyOf(call);
		this.#recorded.set(key, { call, answers });
		this.#used.add(key);
		let target = ++this.#version;
		const { now, wait } = this.#parts;
		while (this.#written < target) {
			if (this.#current && !hasPassed(LOST_MS, this.#current.beganAt, now())) await wait(WAIT_MS);
			else if (await this.#write()) target = this.#version;
		}
	}

	/** Returns whether a later text was written meanwhile. */
	async #write(): Promise<boolean> {
		this.#writing++;
		const own = { beganAt: this.#parts.now() };
		this.#current = own;
		try {
			// Another session may have written the file.
			const recordings = new Map(await this.read(true));
			for (const [key, { test = "" }] of recordings) if (this.#dropped.has(test)) recordings.delete(key);
			for (const [key, { call, answers }] of this.#recorded)
				recordings.set(key, {
					...call,
					answers: [...answers].sort(([a], [b]) => a - b).map(([, answer]) => answer),
				});
			const version = this.#version;
			await this.#replace(recordings);
			const isLate = this.#written > version;
			this.#written = version;
			if (version === this.#version && this.#writing === 1) {
				// The file has all of it.
				this.#recorded.clear();
				this.#dropped.clear();
			}
			return isLate;
		} finally {
			this.#writing--;
			if (this.#current === own) this.#current = undefined;
		}
	}

	/** A file without recordings is removed. */
	async #replace(recordings: Recordings): Promise<void> {
		const { store } = this.#parts;
		if (recordings.size === 0) await store.remove(this.name);
		else await store.write(this.name, writeRecordings(recordings));
		// The stamp after the write may be that of a write of another session.
		this.#known = undefined;
	}

	/** The recordings that were neither used nor made since the last call of this method. `remove`: from the file. */
	async takeUnused(isOver: (recording: Recording) => boolean, remove: boolean): Promise<Recording[]> {
		const recordings = new Map(await this.read(remove));
		const unused = [...recordings].filter(([key, recording]) => !this.#used.has(key) && isOver(recording));
		this.#used.clear();
		for (const [key] of unused) recordings.delete(key);
		if (remove && unused.length > 0) await this.#replace(recordings);
		return unused.map(([, recording]) => recording);
	}
}
