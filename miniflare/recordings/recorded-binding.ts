/** A binding whose answers are recorded: a Worker between it and its gateway. */
import { existsSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import type { Service, ServiceDesignator, Worker_Binding } from "miniflare";
import { makeFolder } from "../../scripts/make-folder.ts";
import { type Source, secretsOf } from "../options.ts";
import { aiBinding, sessionDigest, type WorkerService, worker } from "../services.ts";
import type { RecorderWorkerSettings } from "./recorder.worker.ts";
import type { RecordingSettings } from "./settings.ts";
import { TEST_BINDING_PREFIX } from "./test-bindings.ts";

const RECORDER = [{ name: "index.js", file: join(import.meta.dirname, "recorder.js") }];

export interface RecordedBinding {
	name: string;
	/** The name of the Worker that has it. */
	worker: string;
	source: Source;
	settings: RecordingSettings;
	/** Its gateway. */
	target: ServiceDesignator;
	/** A service binding, and not an `Ai` object. */
	isService: boolean;
}

/** The target has the name of its gateway, which differs for each source. */
const serviceName = ({ source: _, ...identity }: RecordedBinding): string =>
	`ganglion:recorder:${sessionDigest(identity)}`;

export function recordedBindings(binding: RecordedBinding): Worker_Binding[] {
	const { isService, name, target } = binding;
	const service = serviceName(binding);
	const { entrypoint } = target;
	const own = isService
		? { name, service: { name: service, ...(entrypoint !== undefined && { entrypoint }) } }
		: aiBinding(name, { name: service });
	if (process.env.VITEST === undefined) return [own];
	return [own, { name: `${TEST_BINDING_PREFIX}${name}`, service: { name: service, entrypoint: "Tests" } }];
}

export async function recorderServices(binding: RecordedBinding): Promise<Service[]> {
	const { settings, source, target, worker: file } = binding;
	const { folder, roots, ...others } = settings;
	const name = serviceName(binding);
	const disk = `${name}:files`;
	if (settings.mode === "prune" || settings.mode === "strict") refuseSharedFolder(file, settings);
	const withoutTests = filesWithoutTests(settings);
	if (settings.mode === "strict") refuseFilesWithoutTests(withoutTests, settings);
	makeFolder(folder);
	const recorder: RecorderWorkerSettings = {
		...others,
		...{ file: file.replace(RUNNER, "vitest"), folder: shownFolder(settings), roots },
		secrets: secretsOf(source),
		withoutTests,
	};
	const parts: Partial<WorkerService> = {
		compatibilityFlags: ["nodejs_compat"],
		bindings: [
			{ name: "GATEWAY", service: target },
			{ name: "FILES", service: { name: disk } },
			{ name: "SETTINGS", json: JSON.stringify(recorder) },
			aiBinding("AI", { name }),
		],
	};
	return [
		{ name, worker: await worker(RECORDER, parts) },
		{ name: disk, disk: { path: folder, writable: true, allowDotfiles: true } },
	];
}

/** The name that vitest gives to a Worker under test begins with this, and has the project of vitest after it. */
const RUNNER = /^vitest-plugin-runner-?/;

/** The name of the Worker under test by the folder of its recordings, shared by the projects of a run. */
const owners = new Map<string, string>();

/** Each project of vitest has a session of its own, which does not know what the others use. */
export function refuseSharedFolder(worker: string, settings: RecordingSettings): void {
	if (!RUNNER.test(worker)) return;
	const other = owners.get(settings.folder) ?? worker;
	owners.set(settings.folder, other);
	if (other === worker) return;
	const [first, second] = [other, worker].map((name) => JSON.stringify(name.replace(RUNNER, "")));
	throw new Error(
		`The mode ${settings.mode}: the projects ${first} and ${second} of vitest share ${shownFolder(settings)}, and neither knows what the other uses: set options.recordings.folder of one`,
	);
}

/** @param files of recordings, in the folder of the settings. */
export function refuseFilesWithoutTests(files: readonly string[], settings: RecordingSettings): void {
	if (files.length === 0) return;
	const paths = files.map((file) => `${shownFolder(settings)}/${file}`).join(", ");
	const cure =
		files.length === 1
			? "delete it, or restore the file of tests"
			: "delete them, or restore the files of tests";
	throw new Error(`The mode ${settings.mode}: no file of tests belongs to ${paths}: ${cure}`);
}

const shownFolder = ({ folder, roots: [root = ""] }: RecordingSettings): string =>
	relative(root, folder).replaceAll("\\", "/");

const ACTIONS = {
	replay: "is answered from the recordings",
	strict:
		"is answered from the recordings, and fails a file of tests with an unused one (with ganglion/vitest in setupFiles),",
	once: "is answered from the recordings, and records other calls,",
	record: "records all calls again",
	prune:
		"is answered from the recordings, and removes those that no test uses (with ganglion/vitest in setupFiles),",
};

const announced = new Set<string>();

/** Each line once: Miniflare requests the services again on every reload. */
export function announceRecording({ name, settings }: RecordedBinding, say: (line: string) => void): void {
	const line = `ganglion: ${name} ${ACTIONS[settings.mode]} in ${shownFolder(settings)}`;
	if (announced.has(line)) return;
	announced.add(line);
	say(line);
}

/** The path of a file of tests, with `.json`. The tests of files outside of the project have no folder. */
const OF_TESTS = /^.+\/[^/]+\.(?:test|spec)\.[cm]?[jt]sx?(?=\.json$)/;

function filesWithoutTests({ folder, roots }: RecordingSettings): string[] {
	if (process.env.VITEST === undefined || !existsSync(folder)) return [];
	const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) =>
		file.replaceAll("\\", "/"),
	);
	return files.filter((file) => {
		const [test] = OF_TESTS.exec(file) ?? [];
		return test !== undefined && !roots.some((root) => existsSync(join(root, test)));
	});
}
