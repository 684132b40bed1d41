/**
 * An engine that follows the plan for each call, and records exactly what it sent. An event counts when it is written to an open connection.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import {
	countsOf,
	type EngineFormat,
	embeddingFormat,
	ollamaFormat,
	openaiFormat,
} from "./engine-formats.ts";
import { type Fault, indexIn, type Planned } from "./plan.ts";
import type { Steps } from "./steps.ts";

export interface EngineCall {
	index: number;
	/** 1: the first of its request. */
	attempt: number;
	backend: string;
	/** Output limit that it received; infinite if there was none. */
	maxTokens: number;
	/** The fault of this call. */
	fault?: Fault["kind"];
	openedAt: number;
	closedAt?: number;
	/** Events that were written. */
	events: number;
	/** When each of them was. */
	sentAt: number[];
	/** When what follows them was: the end of the stream, or its fault. */
	concludedAt?: number;
	/** Tokens of them. */
	outputTokens: number;
	/** The answer was sent completely, including its end. */
	complete: boolean;
	/** The other side closed the connection before the end. */
	abandoned: boolean;
}

/** After a caller disconnects: time for the gateway to notice, before the next event is sent. */
export const NOTICE_MS = 5_000;
/** The engine closes a hanging connection after this time, if the other side does not. */
const HANG_MS = 30_000;

export class Engine {
	readonly calls = new Map<number, EngineCall[]>();
	readonly #plan: readonly Planned[];
	readonly #steps: Steps;
	readonly #server: Server;

	constructor(plan: readonly Planned[], steps: Steps) {
		this.#plan = plan;
		this.#steps = steps;
		this.#server = createServer((request, response) => void this.#answer(request, response));
		this.#server.keepAliveTimeout = 60_000;
	}

	/** Returns its base address. */
	async listen(): Promise<string> {
		await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", 4096, resolve));
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
	}

	close(): void {
		this.#server.closeAllConnections();
		this.#server.close();
	}

	callsOf(index: number): readonly EngineCall[] {
		return this.calls.get(index) ?? [];
	}

	async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
		// A gateway that is killed may not have sent all of it.
		const body = await textOf(request).catch(() => undefined);
		if (body === undefined) return;
		const index = indexIn(body);
		const planned = index === undefined ? undefined : this.#plan[index];
		if (!planned) {
			response.writeHead(404).end();
			return;
		}
		const [, backend = ""] = (request.url ?? "").split("/", 2);
		const maxTokens = limitIn(JSON.parse(body));
		const call = this.#begin(planned, backend, maxTokens);
		const closed = new AbortController();
		response.on("error", () => {});
		response.on("close", () => {
			call.closedAt = performance.now();
			call.abandoned = !call.complete && call.fault === undefined;
			closed.abort();
		});
		const events = Math.min(planned.outputEvents, Math.floor(maxTokens / planned.tokensPerEvent));
		const format =
			planned.api === "embed"
				? embeddingFormat(planned)
				: backend === "ollama"
					? ollamaFormat(planned, events)
					: openaiFormat(planned, events);
		const play = new Play(planned, call, format, response, closed.signal, this.#steps);
		const { fault } = planned;
		const activeFault = fault && (fault.calls === "all" || call.attempt === 1) ? fault : undefined;
		await play.run(events, activeFault).catch(() => response.destroy());
	}

	#begin({ index }: Planned, backend: string, maxTokens: number): EngineCall {
		const calls = this.calls.get(index) ?? [];
		this.calls.set(index, calls);
		const call: EngineCall = {
			index,
			attempt: calls.length + 1,
			backend,
			maxTokens,
			openedAt: performance.now(),
			events: 0,
			sentAt: [],
			outputTokens: 0,
			complete: false,
			abandoned: false,
		};
		calls.push(call);
		return call;
	}
}

/** One answer. */
class Play {
	readonly #planned: Planned;
	readonly #call: EngineCall;
	readonly #format: EngineFormat;
	readonly #response: ServerResponse;
	readonly #closed: AbortSignal;
	readonly #steps: Steps;

	constructor(
		planned: Planned,
		call: EngineCall,
		format: EngineFormat,
		response: ServerResponse,
		closed: AbortSignal,
		steps: Steps,
	) {
		this.#planned = planned;
		this.#call = call;
		this.#format = format;
		this.#response = response;
		this.#closed = closed;
		this.#steps = steps;
	}

	async run(events: number, fault: Fault | undefined): Promise<void> {
		if (this.#planned.headerMs > 0) await this.#pause(this.#planned.headerMs);
		switch (fault?.kind) {
			case "status":
				this.#recordFault(fault);
				this.#send(fault.status, this.#format.refusal(fault.status));
				return;
			case "reset":
				this.#recordFault(fault);
				this.#response.socket?.resetAndDestroy();
				return;
			case "silent":
				this.#recordFault(fault);
				return this.#hang();
			default:
				return this.#planned.stream ? this.#stream(events, fault) : this.#value(events, fault);
		}
	}

	async #value(events: number, fault: Fault | undefined): Promise<void> {
		const body = this.#format.complete(events);
		if (!fault) {
			this.#recordSent(events);
			this.#call.complete = true;
			return this.#send(200, body);
		}
		this.#recordFault(fault);
		if (fault.kind === "garbage") return this.#send(200, body.slice(0, -7));
		if (fault.kind === "error") return this.#send(200, this.#format.refusal(500));
		this.#response.writeHead(200, {
			"content-type": this.#format.contentType.value,
			"content-length": Buffer.byteLength(body),
		});
		await this.#write(body.slice(0, body.length / 2));
		await this.#break(fault);
	}

	async #stream(events: number, fault: Fault | undefined): Promise<void> {
		const { burst, index, leaving, paceMs } = this.#planned;
		const inStep = leaving.when === "during" && leaving.inStep;
		const valid = fault ? Math.min(fault.after, events) : events;
		this.#response.writeHead(200, { "content-type": this.#format.contentType.stream });
		if (this.#format.opening) await this.#write(this.#format.opening);
		for (let next = 1; next <= valid; ) {
			if (inStep) {
				await this.#steps.reached(index, next - 1, this.#closed);
				if (this.#steps.isGone(index) && next > leaving.event + 1) await this.#pause(NOTICE_MS);
			} else if (paceMs > 0) await this.#pause(paceMs);
			const last = inStep ? next : Math.min(valid, next + burst - 1);
			let text = "";
			for (let event = next; event <= last; event++) text += this.#format.event(event);
			await this.#write(text, last);
			next = last + 1;
		}
		this.#call.concludedAt = performance.now();
		if (!fault) {
			await this.#write(this.#format.ending);
			this.#call.complete = true;
			this.#response.end();
			return;
		}
		this.#recordFault(fault);
		if (fault.kind === "garbage" || fault.kind === "error") {
			await this.#write(this.#format[fault.kind]);
			return this.#hang();
		}
		await this.#break(fault);
	}

	async #break({ kind }: Fault): Promise<void> {
		if (kind === "stall") return this.#hang();
		if (kind === "torn") this.#response.socket?.resetAndDestroy();
		else this.#response.destroy();
	}

	#recordFault({ kind }: Fault): void {
		this.#call.fault = kind;
	}

	#recordSent(events: number): void {
		this.#call.events = events;
		while (this.#call.sentAt.length < events) this.#call.sentAt.push(performance.now());
		this.#call.outputTokens = countsOf(this.#planned, events).output;
	}

	#send(status: number, body: string): void {
		this.#response.writeHead(status, {
			"content-type": this.#format.contentType.value,
			"content-length": Buffer.byteLength(body),
		});
		this.#response.end(body);
	}

	/** Rejects if the other side has closed the connection. Text that was given to an open connection counts as sent, up to event `events`. */
	#write(text: string, events?: number): Promise<void> {
		return new Promise((resolve, reject) => {
			if (this.#closed.aborted) return reject(new Error("closed"));
			if (events !== undefined) this.#recordSent(events);
			const closed = () => reject(new Error("closed"));
			this.#closed.addEventListener("abort", closed, { once: true });
			this.#response.write(text, (error) => {
				this.#closed.removeEventListener("abort", closed);
				if (error) reject(error);
				else resolve();
			});
		});
	}

	async #pause(ms: number): Promise<void> {
		await wait(ms, undefined, { signal: this.#closed }).catch(() => {});
		this.#closed.throwIfAborted();
	}

	async #hang(): Promise<void> {
		await wait(HANG_MS, undefined, { signal: this.#closed }).catch(() => {});
		this.#response.destroy();
	}
}

/** The output limit in the body of either API. */
function limitIn(body: unknown): number {
	const { max_tokens, max_completion_tokens, options } = body as {
		max_tokens?: number;
		max_completion_tokens?: number;
		options?: { num_predict?: number };
	};
	return max_tokens ?? max_completion_tokens ?? options?.num_predict ?? Number.POSITIVE_INFINITY;
}

export async function textOf(request: IncomingMessage): Promise<string> {
	const pieces: Buffer[] = [];
	for await (const piece of request) pieces.push(piece);
	return Buffer.concat(pieces).toString();
}
