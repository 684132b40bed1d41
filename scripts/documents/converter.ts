/**
 * Converts documents in processes of their own. A parser that does not end cannot be interrupted inside of an isolate, so each conversion
 * runs alone in a `workerd` without bindings and without a network, which is killed if it takes too much time or memory.
 *
 * A gateway posts to the address (`DOCUMENTS_BINDING`), whose path is a secret. Processes start with the first file, and stop after a time
 * without one.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { availableParallelism } from "node:os";
import { buffer } from "node:stream/consumers";
import { ACCOUNT_HEADER, STOPPED_STATUS } from "../../src/retrieval/documents/converter.ts";
import { createServer } from "../http.ts";
import type { WorkerSpec } from "../workerd.ts";
import { type ConversionBounds, ConverterProcess, StoppedConversion } from "./converter-process.ts";
import { Turns } from "./turns.ts";

/** More conversions wait for the turns of their accounts. One core is left to the gateway, and each process takes about 100 MB. */
export const processesOn = (cores: number): number => Math.max(1, Math.min(2, cores - 1));
const MAX_PROCESSES = processesOn(availableParallelism());
const MAX_WAITING = 200;
/** Above the largest upload that a gateway admits by default. */
const MAX_MESSAGE_BYTES = 128 * 1024 * 1024;
const LOOPBACK = "127.0.0.1";

export interface DocumentConverter {
	/** The value of `DOCUMENTS_BINDING`. */
	address: string;
	stop(): Promise<void>;
}

/** `modules`: called with the first file. */
export async function startConverter(
	modules: () => Promise<WorkerSpec["modules"]>,
	bounds: ConversionBounds = {},
): Promise<DocumentConverter> {
	const path = `/${randomUUID()}`;
	const pool = new ConverterPool((ended) => new ConverterProcess(modules, ended, bounds));
	const server = createServer((request, response) => {
		void answer(request, response, pool, path);
	});
	await new Promise<void>((listening, failed) => {
		server.once("error", failed).listen(0, LOOPBACK, listening);
	});
	// The process that has the gateway may end.
	server.unref();
	const { port } = server.address() as AddressInfo;
	return {
		address: `http://${LOOPBACK}:${port}${path}`,
		async stop() {
			server.close();
			server.closeAllConnections();
			await pool.stop();
		},
	};
}

async function answer(
	request: IncomingMessage,
	response: ServerResponse,
	pool: ConverterPool,
	path: string,
): Promise<void> {
	try {
		if (request.url !== path || Number(request.headers["content-length"] ?? 0) > MAX_MESSAGE_BYTES) {
			response.writeHead(404).end();
			return;
		}
		const left = new AbortController();
		response.once("close", () => left.abort());
		const message = await buffer(request);
		const account = String(request.headers[ACCOUNT_HEADER] ?? "");
		const converted = await pool.convert(message, account, left.signal);
		response.end(converted);
	} catch (error) {
		if (response.headersSent || response.destroyed) response.destroy();
		else if (error instanceof StoppedConversion) response.writeHead(STOPPED_STATUS).end(error.message);
		else response.writeHead(500).end();
	}
}

class ConverterPool {
	readonly #start: (ended: (process: ConverterProcess) => void) => ConverterProcess;
	readonly #idle: ConverterProcess[] = [];
	readonly #running = new Set<ConverterProcess>();
	readonly #turns = new Turns(MAX_WAITING);
	#isStopped = false;

	/** `ended`: called when the process has stopped because it was not used. */
	constructor(start: (ended: (process: ConverterProcess) => void) => ConverterProcess) {
		this.#start = start;
	}

	/** Throws a `StoppedConversion`. */
	async convert(message: Buffer, account: string, signal: AbortSignal): Promise<Buffer> {
		signal.throwIfAborted();
		// Of those that wait, one begins at each end of a conversion.
		while (this.#running.size >= MAX_PROCESSES) await this.#turns.wait(account, signal, full);
		const process = this.#idle.pop() ?? this.#start((ended) => this.#remove(ended));
		this.#running.add(process);
		try {
			return await process.convert(message, signal);
		} finally {
			this.#running.delete(process);
			if (process.isUsable && !this.#isStopped) this.#idle.push(process);
			else await process.stop();
			this.#turns.next();
		}
	}

	async stop(): Promise<void> {
		this.#isStopped = true;
		await Promise.all([...this.#running, ...this.#idle].map((process) => process.stop()));
	}

	#remove(process: ConverterProcess): void {
		const index = this.#idle.indexOf(process);
		if (index >= 0) this.#idle.splice(index, 1);
	}
}

const full = (): Error => new StoppedConversion("Too many files are being converted at the moment");
