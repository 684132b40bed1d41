/** The Worker between a binding and its gateway: it answers from recordings, and records what the gateway answers. */
import { WorkerEntrypoint } from "cloudflare:workers";
import { unwrappedResponse } from "../../src/surfaces/rpc/unwrapped-response.ts";
import { type WebSearchRequest, type WireParams, webSearchCall } from "../web-search-call.ts";
import { WireGateway } from "../wire-gateway.ts";
import type { RecordingStore } from "./recorded-file.ts";
import { type EndedTests, Recorder, type RecorderSettings } from "./recorder.ts";
import { nameOf } from "./test-names.ts";

export interface RecorderWorkerSettings extends RecorderSettings {
	/** The name of the file of calls outside of tests, without `.json`. */
	file: string;
	/** The folder of the project, also without symbolic links. Files of tests are named relative to it. */
	roots: readonly string[];
	/** Names of files of recordings whose file of tests does not exist. */
	withoutTests: readonly string[];
}

/** The gateway's RPC methods that are not recorded. */
interface GatewayMethods {
	models(params?: unknown): Promise<unknown>;
	toMarkdown(...files: unknown[]): Promise<unknown>;
	aiSearch(): Promise<unknown>;
}

interface RunOptions {
	returnRawResponse?: boolean;
	[option: string]: unknown;
}

interface RecorderEnv {
	/** The gateway, or the Worker that forwards to one. */
	GATEWAY: Fetcher & GatewayMethods;
	/** The folder of the binding's recordings. */
	FILES: Fetcher;
	SETTINGS: RecorderWorkerSettings;
	/** The runtime's `Ai` object on this Worker. Its calls have `returnRawResponse`. */
	AI: { run(model: string, inputs: object, options: RunOptions): Promise<Response> };
}

/** One for each session. */
let recorder: Recorder | undefined;

const warn = (line: string): void => console.warn(`ganglion: ${line}`);

function recorderOf({ FILES, SETTINGS }: RecorderEnv): Recorder {
	if (recorder) return recorder;
	for (const file of SETTINGS.withoutTests)
		warn(`${SETTINGS.folder}/${file} belongs to a file of tests that no longer exists: delete it`);
	recorder = new Recorder({
		settings: SETTINGS,
		store: storeIn(FILES),
		file: `${SETTINGS.file}.json`,
		now: () => performance.now(),
		wait: (milliseconds) => scheduler.wait(milliseconds),
		warn,
	});
	return recorder;
}

/** Files of the runtime's disk service, which replaces a file as a whole and creates its folders. */
function storeIn(files: Fetcher): RecordingStore {
	const address = (name: string) => `http://files/${name.split("/").map(encodeURIComponent).join("/")}`;
	return {
		async stamp(name) {
			const { headers, ok, status } = await files.fetch(address(name), { method: "HEAD" });
			if (ok) return `${headers.get("last-modified")} ${headers.get("content-length")}`;
			if (status === 404) return undefined;
			throw new Error(`cannot be read: status ${status}`);
		},
		async read(name) {
			const response = await files.fetch(address(name));
			// `text()` of the runtime warns: the disk service answers with bytes.
			if (response.ok) return new TextDecoder().decode(await response.arrayBuffer());
			await response.body?.cancel();
			if (response.status === 404) return undefined;
			throw new Error(`cannot be read: status ${response.status}`);
		},
		async write(name, text) {
			const { ok, status } = await files.fetch(address(name), { method: "PUT", body: text });
			if (!ok) throw new Error(`cannot be written: status ${status}`);
		},
		async remove(name) {
			const { ok, status } = await files.fetch(address(name), { method: "DELETE" });
			if (!ok && status !== 404) throw new Error(`cannot be removed: status ${status}`);
		},
	};
}

/** What the runtime's `Ai` class calls. */
export default class RecordedGateway extends WorkerEntrypoint<RecorderEnv> {
	override fetch(request: Request): Promise<Response> {
		return recorderOf(this.env).answer(request, {
			forward: (forwarded) => this.env.GATEWAY.fetch(forwarded),
			waitUntil: (work) => this.ctx.waitUntil(work),
		});
	}

	gateway(id: string): WireGateway {
		return new WireGateway(id, (request) => this.fetch(request));
	}

	websearch(request: WebSearchRequest, params?: WireParams): Promise<Response> {
		return this.fetch(new Request(...webSearchCall(request, params)));
	}

	/** Not recorded: the documents are in the gateway. */
	aiSearch(): Promise<unknown> {
		return this.env.GATEWAY.aiSearch();
	}
}

/** The gateway's RPC entrypoint of the same name. */
export class AI extends RecordedGateway {
	async run(model: string, inputs: Record<string, unknown>, options?: RunOptions | null): Promise<unknown> {
		const response = await this.env.AI.run(model, inputs, { ...options, returnRawResponse: true });
		return options?.returnRawResponse ? response : unwrappedResponse(response);
	}

	models(params?: unknown): Promise<unknown> {
		return this.env.GATEWAY.models(params);
	}

	/** Not recorded: a file is a `Blob`, which requests do not have. */
	toMarkdown(...files: unknown[]): Promise<unknown> {
		return this.env.GATEWAY.toMarkdown(...files);
	}
}

/** For the module `ganglion/vitest`. */
export class Tests extends WorkerEntrypoint<RecorderEnv> {
	/** `path`: of the file of the test. `test`: absent outside of the tests of the file. */
	begin(path: string, test?: string): void {
		recorderOf(this.env).begin(this.#fileOf(path), test);
	}

	/** The tests of a file have ended. */
	end(path: string, tests: EndedTests): Promise<void> {
		return recorderOf(this.env).end(this.#fileOf(path), tests);
	}

	#fileOf(path: string): string {
		return `${nameOf(path, this.env.SETTINGS.roots)}.json`;
	}
}
