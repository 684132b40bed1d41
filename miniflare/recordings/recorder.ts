/**
 * Answers the calls of a binding from a file of recordings, and records the calls that the file does not have.
 *
 * The calls of a test are recorded together. Equal calls of a test have an answer each, in the order of the calls. The last one answers
 * all further calls.
 */
import { contains, PROFILES } from "../../src/gateways/profiles/profiles.ts";
import { bindingFailure } from "../binding-failure.ts";
import { isRecordable, recordingResponse, replay } from "./answers.ts";
import { isRecorded, readCall } from "./calls.ts";
import { describeCall, describeMiss } from "./difference.ts";
import {
	type Answer,
	type Call,
	keyOf,
	type Recording,
	readRecordings,
	writeRecordings,
} from "./recording-file.ts";

/** `replay`: only recordings answer. `once`: calls without a recording are recorded. `record`: all calls are recorded again. */
export type RecordingMode = "replay" | "once" | "record";

export interface RecorderSettings {
	mode: RecordingMode;
	/** Paths in inputs that are not compared. */
	ignore: readonly string[];
	/** Streams are replayed at this multiple of their recorded speed. Without waiting if absent. */
	speed?: number | undefined;
	/** Values that a file must not have. */
	secrets: readonly string[];
}

/** Files by name. */
export interface RecordingStore {
	/** `undefined`: no such file. */
	read(name: string): Promise<string | undefined>;
	write(name: string, text: string): Promise<void>;
}

/** The calls of a test, or those outside of tests. */
interface Scope {
	file: string;
	test?: string | undefined;
	/** The number of calls by key. */
	calls: Map<string, number>;
	/** What was recorded for a key, by the place of the call among equal calls. */
	recorded: Map<string, Map<number, Answer>>;
	/** The earlier recordings of the scope are no longer in the file. */
	isCleared: boolean;
}

/** Characters of JSON. A file is read whole for each call. */
const LARGEST_ANSWER = 5_000_000;
/** Shorter values are in ordinary texts. */
const SHORTEST_SECRET = 8;

export class Recorder {
	readonly #settings: RecorderSettings;
	readonly #store: RecordingStore;
	readonly #warn: (line: string) => void;
	#scope: Scope;
	/** A change reads the file and writes it again, so the next change waits for it. */
	#change: Promise<unknown> = Promise.resolve();
	#hasSimulated = false;

	/** `file`: of calls outside of tests. */
	constructor(settings: RecorderSettings, store: RecordingStore, file: string, warn: (line: string) => void) {
		this.#settings = settings;
		this.#store = store;
		this.#warn = warn;
		this.#scope = scopeOf(file);
	}

	/** Further calls belong to this test, also if it begins again. */
	begin(file: string, test: string): void {
		this.#scope = scopeOf(file, test);
	}

	/** `forward` gets the request if no recording answers. */
	async answer(request: Request, forward: (request: Request) => Promise<Response>): Promise<Response> {
		const { ignore, mode, secrets } = this.#settings;
		if (!isRecorded(request)) return forward(request);
		if (request.headers.has("upgrade"))
			return mode === "replay" ? missing("Websockets are not recorded") : forward(request);
		const scope = this.#scope;
		const startedAt = performance.now();
		const body = new Uint8Array(await request.clone().arrayBuffer());
		const call: Call = { test: scope.test, ...(await readCall(request, body, ignore)) };
		const key = keyOf(call);
		const place = scope.calls.get(key) ?? 0;
		scope.calls.set(key, place + 1);
		const answered = mode === "record" ? undefined : await this.#replay(scope, call, place);
		if (answered) return answered;
		if (hasSecret(key, secrets))
			return refused(
				`${describeCall(call)} has a value that looks like a key, and recordings are files of a repository: remove it, or name its field in options.recordings.ignore`,
			);
		if (!scope.recorded.has(key)) scope.recorded.set(key, new Map());
		const response = await forward(request);
		if (!isRecordable(response.status)) {
			this.#warn(`${describeCall(call)} was not recorded: its status is ${response.status}`);
			return response;
		}
		const elapsed = () => performance.now() - startedAt;
		return recordingResponse(response, elapsed, (answer) => this.#record(scope, call, place, answer));
	}

	/** `undefined`: the call has no recording yet. */
	async #replay(scope: Scope, call: Call, place: number): Promise<Response | undefined> {
		const { mode, speed } = this.#settings;
		const key = keyOf(call);
		// Equal calls of a test that is being recorded have an answer each.
		if (scope.test !== undefined && scope.recorded.has(key)) return undefined;
		let recordings: Recording[];
		try {
			await this.#change;
			recordings = await this.#read(scope.file);
		} catch (error) {
			return refused((error as Error).message);
		}
		const answers = recordings.find((recording) => keyOf(recording) === key)?.answers ?? [];
		const answer = answers[place] ?? answers.at(-1);
		if (answer) return replay(answer, speed);
		if (mode !== "replay") return undefined;
		const sentence = `No recording answers ${describeCall(call)}: ${describeMiss(call, recordings, scope.file)}`;
		this.#warn(sentence);
		return missing(`${sentence}. GANGLION_RECORDINGS=once records it`);
	}

	async #read(file: string): Promise<Recording[]> {
		const text = await this.#store.read(file);
		return text === undefined ? [] : readRecordings(text, file);
	}

	async #record(scope: Scope, call: Call, place: number, answer: Answer): Promise<void> {
		const text = JSON.stringify(answer);
		if (text.length > LARGEST_ANSWER)
			return this.#warn(
				`${describeCall(call)} was not recorded: its answer has ${text.length} characters of JSON, and ${LARGEST_ANSWER} are possible`,
			);
		if (hasSecret(text, this.#settings.secrets))
			return this.#warn(
				`${describeCall(call)} was not recorded: its answer has a value that looks like a key`,
			);
		if (answer.headers["x-ganglion-backend"] === "simulator" && !this.#hasSimulated) {
			this.#hasSimulated = true;
			this.#warn(
				`${describeCall(call)} was recorded from the simulator, because no route names an engine for it`,
			);
		}
		this.#change = this.#change.then(async () => {
			try {
				await this.#write(scope, call, place, answer);
			} catch (error) {
				this.#warn(`${describeCall(call)} was not recorded: ${(error as Error).message}`);
			}
		});
		await this.#change;
	}

	async #write(scope: Scope, call: Call, place: number, answer: Answer): Promise<void> {
		const key = keyOf(call);
		const ofCall = scope.recorded.get(key) ?? new Map();
		ofCall.set(place, answer);
		const clears = this.#settings.mode === "record" && !scope.isCleared;
		const others = (await this.#read(scope.file)).filter(
			(recording) => keyOf(recording) !== key && !(clears && recording.test === scope.test),
		);
		// A later one of equal calls may have its answer first.
		const answers = [...ofCall].sort(([a], [b]) => a - b).map(([, answer]) => answer);
		await this.#store.write(scope.file, writeRecordings([...others, { ...call, answers }]));
		scope.isCleared = true;
	}
}

const scopeOf = (file: string, test?: string): Scope => ({
	file,
	test,
	calls: new Map(),
	recorded: new Map(),
	isCleared: false,
});

const { api_key: API_KEY } = PROFILES;

const hasSecret = (text: string, secrets: readonly string[]): boolean =>
	(API_KEY !== undefined && contains(text, API_KEY)) ||
	secrets.some((secret) => secret.length >= SHORTEST_SECRET && text.includes(secret));

const missing = (description: string): Response =>
	bindingFailure({ internalCode: 7002, httpCode: 404, description });

const refused = (description: string): Response =>
	bindingFailure({ internalCode: 8001, httpCode: 400, description: `Invalid input: ${description}` });
