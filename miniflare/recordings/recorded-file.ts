/** A file of recordings, and what this session has recorded for it. */
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
	/** `undefined`: no such file. */
	read(name: string): Promise<string | undefined>;
	write(name: string, text: string): Promise<void>;
}

/** The answers of equal calls, by their place among these calls. */
export type RecordedAnswers = Map<number, Answer>;

export class RecordedFile {
	readonly name: string;
	readonly #store: RecordingStore;
	/** By key. They have precedence over the file. */
	readonly #recorded = new Map<string, { call: Call; answers: RecordedAnswers }>();
	/** Tests whose earlier recordings are dropped when the first of their calls is recorded. */
	readonly #restarted = new Set<string>();
	/** Tests whose earlier recordings are dropped by the next write. */
	readonly #dropped = new Set<string>();
	/** Counts the changes. */
	#version = 0;
	/** The version that was written last. */
	#written = 0;
	/** Callers that write. */
	#writing = 0;

	constructor(name: string, store: RecordingStore) {
		this.name = name;
		this.#store = store;
	}

	/** As the file is now: a person may have changed it. Throws if it is not a file of recordings. */
	async read(): Promise<Recording[]> {
		const text = await this.#store.read(this.name);
		return text === undefined ? [] : readRecordings(text);
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
	 * Each caller reads and writes the file itself, because the runtime ends the work of a request whose caller has left, and others must
	 * not wait for it. An earlier text may arrive after a later one: then its caller writes again.
	 */
	async record(call: Call, answers: RecordedAnswers): Promise<void> {
		if (call.test !== undefined && this.#restarted.delete(call.test)) this.#drop(call.test);
		this.#recorded.set(keyOf(call), { call, answers });
		this.#version++;
		this.#writing++;
		try {
			do await this.#write();
			while (this.#written < this.#version);
		} finally {
			this.#writing--;
		}
		if (this.#writing > 0) return;
		// The file has all of it.
		this.#recorded.clear();
		this.#dropped.clear();
	}

	async #write(): Promise<void> {
		const others = (await this.read()).filter(
			(recording) => !this.#recorded.has(keyOf(recording)) && !this.#dropped.has(recording.test ?? ""),
		);
		const version = this.#version;
		const recorded = [...this.#recorded.values()].map(({ call, answers }) => ({
			...call,
			answers: [...answers].sort(([a], [b]) => a - b).map(([, answer]) => answer),
		}));
		await this.#store.write(this.name, writeRecordings([...others, ...recorded]));
		this.#written = version;
	}
}
