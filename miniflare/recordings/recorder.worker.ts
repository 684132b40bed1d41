/** The Worker between a binding and its gateway: it answers from recordings, and records what the gateway answers. */
import { WorkerEntrypoint } from "cloudflare:workers";
import { isRecord } from "../../src/core/json.ts";
import { searchRequest, type WebSearchRequest, WireGateway, type WireParams } from "../wire-gateway.ts";
import { Recorder, type RecorderSettings, type RecordingStore } from "./recorder.ts";

export interface RecorderWorkerSettings extends RecorderSettings {
	/** The name of the file of calls outside of tests, without `.json`. */
	file: string;
	/** The folder of the project. Files of tests are named relative to it. */
	root: string;
}

/** The gateway's RPC methods that are not recorded. */
interface GatewayMethods {
	models(params?: unknown): Promise<unknown>;
	toMarkdown(...files: unknown[]): Promise<unknown>;
	aiSearch(): Promise<unknown>;
}

interface RecorderEnv {
	/** The gateway, or the Worker that forwards to one. */
	GATEWAY: Fetcher & GatewayMethods;
	/** The folder of the binding's recordings. */
	FILES: Fetcher;
	SETTINGS: RecorderWorkerSettings;
	/** The runtime's `Ai` object on this Worker. Its calls have `returnRawResponse`. */
	AI: {
		run(model: string, inputs: object, options: RunOptions): Promise<Response>;
	};
}

/** One for each session. */
let recorder: Recorder | undefined;

function recorderOf({ FILES, SETTINGS }: RecorderEnv): Recorder {
	recorder ??= new Recorder(SETTINGS, storeIn(FILES), `${SETTINGS.file}.json`, (line) =>
		console.warn(`ganglion: ${line}`),
	);
	return recorder;
}

/** Files of the runtime's disk service, which replaces a file as a whole and creates its folders. */
function storeIn(files: Fetcher): RecordingStore {
	const address = (name: string) => `http://files/${name.split("/").map(encodeURIComponent).join("/")}`;
	return {
		async read(name) {
			const response = await files.fetch(address(name));
			if (response.ok) return response.text();
			await response.body?.cancel();
			if (response.status === 404) return undefined;
			throw new Error(`${name} cannot be read: status ${response.status}`);
		},
		async write(name, text) {
			const { ok, status } = await files.fetch(address(name), { method: "PUT", body: text });
			if (!ok) throw new Error(`${name} cannot be written: status ${status}`);
		},
	};
}

const answer = (request: Request, env: RecorderEnv): Promise<Response> =>
	recorderOf(env).answer(request, (forwarded) => env.GATEWAY.fetch(forwarded));

/** What the runtime's `Ai` class calls. */
export default class Recorded extends WorkerEntrypoint<RecorderEnv> {
	override fetch(request: Request): Promise<Response> {
		return answer(request, this.env);
	}

	gateway(id: string): WireGateway {
		return new WireGateway(id, (request) => answer(request, this.env));
	}

	websearch(request: WebSearchRequest, params?: WireParams): Promise<Response> {
		return answer(searchRequest(request, params), this.env);
	}

	/** Not recorded: it also writes. */
	aiSearch(): Promise<unknown> {
		return this.env.GATEWAY.aiSearch();
	}
}

interface RunOptions {
	returnRawResponse?: boolean;
	[option: string]: unknown;
}

/** The gateway's RPC entrypoint of the same name. */
export class AI extends Recorded {
	async run(model: string, inputs: Record<string, unknown>, options?: RunOptions | null): Promise<unknown> {
		const raw = { ...options, returnRawResponse: true };
		const response = await this.env.AI.run(model, inputs, raw);
		if (options?.returnRawResponse) return response;
		const isJson = response.headers.get("content-type") === "application/json";
		if (!response.ok) throw rpcError(await response.json());
		return isJson ? response.json() : response.body;
	}

	models(params?: unknown): Promise<unknown> {
		return this.env.GATEWAY.models(params);
	}

	/** Not recorded: a file is a `Blob`, which requests do not have. */
	toMarkdown(...files: unknown[]): Promise<unknown> {
		return this.env.GATEWAY.toMarkdown(...files);
	}
}

/** An error with the fields of the gateway's. */
function rpcError(body: unknown): Error {
	const { name, internalCode, httpCode, description } = isRecord(body) ? body : {};
	const message = `${internalCode}: ${description}`;
	return Object.assign(new Error(message), { name, internalCode, httpCode, description });
}

/** For the module `ganglion/vitest`. */
export class Tests extends WorkerEntrypoint<RecorderEnv> {
	/** `path`: of the file of the test. */
	begin(path: string, test: string): void {
		const { root } = this.env.SETTINGS;
		const name = path.startsWith(root) ? path.slice(root.length) : path;
		recorderOf(this.env).begin(`${name.replace(/^\/+/, "")}.json`, test);
	}
}
