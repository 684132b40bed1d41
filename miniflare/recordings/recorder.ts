/**
 * Answers the calls of a binding from a file of recordings, and records the calls that the file does not have.
 *
 * The calls of a test are recorded together. Equal calls of a test have an answer each, in the order of the calls. The last one answers
 * all further calls.
 */
import { AiError } from "../../src/core/errors.ts";
import { bindingFailure } from "../binding-failure.ts";
import { isRecordable, LARGEST_ANSWER, recordingResponse, replay } from "./answers.ts";
import { isRecorded, readCall } from "./calls.ts";
import { describeCall, describeMiss } from "./difference.ts";
import { isOffline, type RecordingMode } from "./mode.ts";
import { type FileParts, type RecordedAnswers, RecordedFile } from "./recorded-file.ts";
import { type Answer, type Call, keyOf, type Recording } from "./recording-file.ts";
import { hasSecret } from "./secrets.ts";

/** The tests of a file after their run, by the names of their recordings. */
export interface EndedTests {
	passed: readonly string[];
	/** Failed, skipped, or not chosen: it is unknown which recordings they use. */
	others: readonly string[];
}

/** Recordings that a line names. */
const NAMED = 5;

export interface RecorderSettings {
	mode: RecordingMode;
	/** Paths in inputs that are not compared. */
	ignore: readonly string[];
	/** Streams are replayed at this multiple of their recorded speed. Without waiting if absent. */
	speed?: number | undefined;
	/** Values that a file must not have. */
	secrets: readonly string[];
	/** The path of the files, for messages. */
	folder: string;
}

export interface RecorderParts extends FileParts {
	settings: RecorderSettings;
	/** The name of the file of calls outside of tests. */
	file: string;
	warn(line: string): void;
}

/** Who answers a call that has no recording. */
export interface Fallback {
	forward(request: Request): Promise<Response>;
	/** Continues work after the caller has left. */
	waitUntil(work: Promise<unknown>): void;
}

/** The calls of a test, or those outside of tests. */
interface Scope {
	file: RecordedFile;
	test?: string | undefined;
	/** The number of calls of a test by key. */
	calls: Map<string, number>;
	/** What was recorded for a test by key. */
	recorded: Map<string, RecordedAnswers>;
}

/** A call, and its place among the equal calls of its test. */
interface PlacedCall {
	call: Call;
	key: string;
	place: number;
}

export class Recorder {
	readonly #parts: RecorderParts;
	/** The calls outside of tests, by file. */
	readonly #outside = new Map<string, Scope>();
	/** Files with a call that had no recording, since their last end. */
	readonly #missed = new Set<string>();
	#scope: Scope;
	#hasSimulated = false;

	constructor(parts: RecorderParts) {
		this.#parts = parts;
		this.#scope = this.#scopeOf(parts.file);
	}

	/** Further calls belong to this test, also if it begins again. `undefined`: to the file, outside of its tests. */
	begin(file: string, test?: string): void {
		this.#scope = this.#scopeOf(file, test);
	}

	#scopeOf(name: string, test?: string): Scope {
		const outside = this.#outside.get(name) ?? this.#newScope(new RecordedFile(name, this.#parts));
		this.#outside.set(name, outside);
		return test === undefined ? outside : this.#newScope(outside.file, test);
	}

	/**
	 * The tests of a file have ended: names the recordings that none of them needs, or the reason why the file cannot be read. Throws this as
	 * an error in the mode `strict`.
	 */
	async end(name: string, { others, passed }: EndedTests): Promise<void> {
		const { settings, warn } = this.#parts;
		const { file } = this.#scopeOf(name);
		const ran = new Set(passed);
		const unknown = new Set(others);
		const isOver = ({ test }: Recording): boolean => {
			if (test === undefined) return unknown.size === 0;
			// Tests of the same name have a number.
			return ran.has(test) || !(unknown.has(test) || unknown.has(test.replace(/ \(\d+\)$/, "")));
		};
		// The test of such a call may have a new name, and then the recordings of the old one are still needed.
		const hasMissed = this.#missed.delete(name);
		const removes = settings.mode === "prune" && !hasMissed;
		let unused: Recording[];
		try {
			unused = await file.takeUnused(isOver, removes);
		} catch (error) {
			return this.#report(`${this.#pathOf(file)} ${(error as Error).message}`);
		}
		if (unused.length === 0) return;
		const named = unused.slice(0, NAMED).map(describeCall).join(", ");
		const further = unused.length > NAMED ? `, and ${unused.length - NAMED} more` : "";
		const count = `${unused.length} unused recording${unused.length === 1 ? "" : "s"}`;
		if (removes) return warn(`${count} removed from ${this.#pathOf(file)}: ${named}${further}`);
		const kept = settings.mode === "prune" ? "Nothing was removed. " : "";
		const cure = hasMissed
			? "A call had no recording: its test may have a new name. Record again on your machine"
			: "Run GANGLION_RECORDINGS=prune on your machine, and commit the file";
		this.#report(`${this.#pathOf(file)} has ${count}: ${named}${further}. ${kept}${cure}`);
	}

	/** About a file whose tests have ended. */
	#report(line: string): void {
		if (this.#parts.settings.mode === "strict") throw new Error(line);
		this.#parts.warn(line);
	}

	#newScope(file: RecordedFile, test?: string): Scope {
		if (this.#parts.settings.mode === "record" && test !== undefined) file.restart(test);
		return { file, test, calls: new Map(), recorded: new Map() };
	}

	async answer(request: Request, { forward, waitUntil }: Fallback): Promise<Response> {
		const { now, settings, warn } = this.#parts;
		const { ignore, mode, secrets } = settings;
		if (!isRecorded(request)) return forward(request);
		if (request.headers.has("upgrade"))
			return isOffline(mode) ? missing("Websockets are not recorded") : forward(request);
		const scope = this.#scope;
		const startedAt = now();
		const body = new Uint8Array(await request.clone().arrayBuffer());
		const call: Call = { test: scope.test, ...(await readCall(request, body, ignore)) };
		const key = keyOf(call);
		const placed = { call, key, place: placeOf(key, scope) };
		const answered = mode === "record" ? undefined : await this.#replay(scope, placed);
		if (answered) return answered;
		if (hasSecret(call, secrets))
			return refused(
				`${describeCall(call)} has a value that looks like a key, and recordings are files of a repository: remove it, or name its field in options.recordings.ignore`,
			);
		if (scope.test !== undefined && !scope.recorded.has(key)) scope.recorded.set(key, new Map());
		const response = await forward(request);
		if (!isRecordable(response.status)) {
			warn(`${describeCall(call)} was not recorded: its status is ${response.status}`);
			return response;
		}
		return recordingResponse(response, {
			elapsed: () => now() - startedAt,
			record: (answer) => {
				const recording = this.#record(scope, placed, answer);
				waitUntil(recording);
				return recording;
			},
			broken: () => warn(`${describeCall(call)} was not recorded: its stream broke off`),
		});
	}

	/** `undefined`: the call has no recording yet. */
	async #replay({ file, recorded }: Scope, { call, key, place }: PlacedCall): Promise<Response | undefined> {
		const { settings, wait, warn } = this.#parts;
		const { mode, speed } = settings;
		// Equal calls of a test that is being recorded have an answer each.
		if (recorded.has(key)) return undefined;
		let recordings: ReadonlyMap<string, Recording>;
		try {
			recordings = await file.read();
		} catch (error) {
			return refused(`${this.#pathOf(file)} ${(error as Error).message}`);
		}
		const answers = recordings.get(key)?.answers ?? [];
		const answer = answers[place] ?? answers.at(-1);
		if (answer) {
			file.use(key);
			return replay(answer, { speed, wait });
		}
		// The message about a missing recording has a part of the call.
		if (!isOffline(mode) || hasSecret(call, settings.secrets)) return undefined;
		const sentence = `No recording answers ${describeCall(call)}: ${describeMiss(call, [...recordings.values()], this.#pathOf(file))}`;
		warn(sentence);
		this.#missed.add(file.name);
		return missing(`${sentence}. Record it on your machine (GANGLION_RECORDINGS=once), and commit the file`);
	}

	async #record(
		{ file, recorded, test }: Scope,
		{ call, key, place }: PlacedCall,
		answer: Answer,
	): Promise<void> {
		const { settings, warn } = this.#parts;
		if (answer.isLeft && test === undefined)
			return warn(`${describeCall(call)} was not recorded: its caller left the stream`);
		const text = JSON.stringify(answer);
		if (text.length > LARGEST_ANSWER)
			return warn(
				`${describeCall(call)} was not recorded: its answer has ${text.length} characters of JSON, and ${LARGEST_ANSWER} are possible`,
			);
		if (hasSecret(answer, settings.secrets))
			return warn(`${describeCall(call)} was not recorded: its answer has a value that looks like a key`);
		if (answer.headers["x-ganglion-backend"] === "simulator" && !this.#hasSimulated) {
			this.#hasSimulated = true;
			warn(`${describeCall(call)} was recorded from the simulator, because no route names an engine for it`);
		}
		const answers = recorded.get(key) ?? new Map();
		try {
			await file.record(call, answers.set(place, answer));
		} catch (error) {
			warn(`${describeCall(call)} was not recorded: ${this.#pathOf(file)} ${(error as Error).message}`);
		}
	}

	#pathOf({ name }: RecordedFile): string {
		return `${this.#parts.settings.folder}/${name}`;
	}
}

/** The place of a call among the equal calls of its test. Outside of tests the last answer is the only one. */
function placeOf(key: string, { calls, test }: Scope): number {
	if (test === undefined) return 0;
	const place = calls.get(key) ?? 0;
	calls.set(key, place + 1);
	return place;
}

const missing = (description: string): Response => bindingFailure(new AiError("notFound", description));

const refused = (description: string): Response =>
	bindingFailure(new AiError("invalidInput", `Invalid input: ${description}`));
