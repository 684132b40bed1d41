/**
 * Prefill and decode engines that enforce their protocol: a handle can be used once, before it expires, with the same request,
 * and with all its digits; both engines of a pair meet in one room; wrong or missing fields are refused. `p…` are prefill
 * engines, `d…` decode engines, and `b…` do both.
 */
import { isRecord } from "../../../src/core/json.ts";
import type { DisaggregationName } from "../../../src/pools/prefill-decode/settings.ts";

/**
 * When an engine fails. `refuse`: it cannot be reached. `error`: HTTP 500 at once. `busy`: HTTP 503. `reset`: the connection breaks
 * while it works. `lost`: a prefill engine ends after its reply, or after the answer has started. `cut`: a stream breaks after
 * some tokens. `invalid`: HTTP 400. `silent`: no answer.
 */
export type Fault = "refuse" | "error" | "busy" | "reset" | "lost" | "cut" | "invalid" | "silent";
export const FAULTS = {
	prefill: ["refuse", "error", "busy", "reset", "lost"],
	decode: ["refuse", "error", "busy", "reset", "cut"],
} as const satisfies Record<string, readonly Fault[]>;

export interface EngineCall {
	host: string;
	stage: "prefill" | "decode" | "both";
	/** The body as it was sent. */
	text: string;
	body: Record<string, unknown>;
	headers: Headers;
	fault: Fault | undefined;
	signal: AbortSignal;
}

interface Handle {
	/** A number above 2^53, as text. */
	id: string;
	messages: string;
	requestId: string | null;
	expiresAt: number;
	/** How it ended. */
	end: "open" | "used" | "lost";
}

interface Room {
	prefill: PromiseWithResolvers<void>;
	decode: PromiseWithResolvers<void>;
	transferred: PromiseWithResolvers<void>;
	/** The decode engine has sent its first token. */
	answered: PromiseWithResolvers<void>;
	joined: Set<string>;
	messages: string;
}

export const PROMPT_TOKENS = 900;
export const CACHED_TOKENS = 256;
export const TOKENS = Array.from({ length: 6 }, (_, i) => `t${i} `);
const LEASE_MS = 30_000;
/** Ids are 2^63 - 1 and less: no two of them are the same number in JavaScript. */
const MAX_ID = 2n ** 63n - 1n;

export interface ClusterOptions {
	protocol: DisaggregationName;
	now?: () => number;
	fault?: (call: Pick<EngineCall, "host" | "stage">) => Fault | undefined;
	/** A prefill engine that does not report cached tokens. */
	reportsCache?: boolean;
}

export class Cluster {
	readonly calls: EngineCall[] = [];
	readonly handles: Handle[] = [];
	/** Violations of the protocol. */
	readonly violations: string[] = [];
	/** Calls in progress. */
	open = 0;
	readonly #rooms = new Map<string, Room>();
	readonly #options: ClusterOptions;

	constructor(options: ClusterOptions) {
		this.#options = options;
	}

	/** Calls by host, in order. */
	get hosts(): string[] {
		return this.calls.map(({ host }) => host);
	}

	readonly fetch: typeof fetch = async (input, init = {}) => {
		const host = new URL(String(input)).hostname;
		const stage = host.startsWith("p") ? "prefill" : host.startsWith("d") ? "decode" : "both";
		const text = String(init.body);
		const { signal } = init;
		if (!signal) throw new Error("a fetch without a signal cannot be stopped");
		const fault = this.#options.fault?.({ host, stage });
		const body: Record<string, unknown> = JSON.parse(text);
		const call = { host, stage, text, body, headers: new Headers(init.headers), fault, signal } as const;
		this.calls.push(call);
		this.open++;
		try {
			return await untilAborted(signal, this.#answer(call));
		} finally {
			this.open--;
		}
	};

	async #answer(call: EngineCall): Promise<Response> {
		const { fault } = call;
		if (fault === "refuse") throw new Error("connection refused");
		if (fault === "error") return refusal(500, "the engine has failed");
		if (fault === "busy") return refusal(503, "the engine is busy", { "retry-after": "31" });
		if (fault === "invalid") return refusal(400, "the prompt is too long");
		if (fault === "silent") return new Promise(() => {});
		await pause();
		if (call.stage === "both") return this.#generate(call, 0);
		const problem = this.#check(call);
		if (problem !== undefined) {
			this.violations.push(`${call.host}: ${problem}`);
			return refusal(400, problem);
		}
		if (this.#options.protocol === "sglang") return this.#meet(call);
		return call.stage === "prefill" ? this.#issue(call) : this.#consume(call);
	}

	/** The problem of the fields of a request. */
	#check({ stage, body }: EngineCall): string | undefined {
		const { protocol } = this.#options;
		const { stream, stream_options, max_tokens, max_completion_tokens } = body;
		const foreign = Object.keys(body).filter(
			(name) => /kv_transfer|bootstrap|disagg/.test(name) && !FIELDS[protocol].includes(name),
		);
		if (foreign.length > 0) return `unknown fields ${foreign}`;
		if (protocol === "sglang") {
			const values = FIELDS.sglang.map((name) => body[name]);
			return values.includes(undefined)
				? "Disaggregated request received without bootstrap room id."
				: undefined;
		}
		if (stage !== "prefill") return undefined;
		if (stream !== false || stream_options !== undefined) return "a prefill request is not a stream";
		if (max_tokens !== 1 || max_completion_tokens !== 1) return "a prefill request has one token";
		if (body.min_tokens !== undefined) return "min_tokens must not exceed max_tokens";
		const { kv_transfer_params: kv, disaggregated_params: params } = body;
		if (protocol === "nixl")
			return JSON.stringify(kv) === NIXL_REQUEST ? undefined : `kv_transfer_params: ${JSON.stringify(kv)}`;
		const id = isRecord(params) ? params.disagg_request_id : undefined;
		const isValid = isRecord(params) && params.request_type === "context_only" && typeof id === "number";
		return isValid && Number.isSafeInteger(id) && id >= 2 ** 42 ? undefined : "disaggregated_params";
	}

	/** A prefill engine of vLLM or TensorRT-LLM. */
	async #issue({ host, body, headers, fault }: EngineCall): Promise<Response> {
		if (fault === "reset") throw new Error("connection reset");
		const { protocol, now = () => 0 } = this.#options;
		const id = String(MAX_ID - BigInt(this.handles.length));
		const requestId = headers.get("x-request-id");
		if (requestId === null) this.violations.push(`${host}: no request id`);
		this.handles.push({
			id,
			messages: JSON.stringify(body.messages),
			requestId,
			expiresAt: now() + LEASE_MS,
			end: fault === "lost" ? "lost" : "open",
		});
		const params = body.disaggregated_params;
		const handle =
			protocol === "nixl"
				? `{"do_remote_prefill":true,"do_remote_decode":false,"remote_block_ids":[[1,2,${id}]],"remote_engine_id":"${host}","remote_request_id":"cmpl-${id}","remote_host":"10.0.0.1","remote_port":5600,"tp_size":1}`
				: `{"request_type":"context_only","ctx_request_id":${id},"first_gen_tokens":[7],"opaque_state":"AAE=","disagg_request_id":${isRecord(params) ? params.disagg_request_id : 0}}`;
		const field =
			protocol === "nixl"
				? { outer: `,"kv_transfer_params":${handle}`, inner: "" }
				: { outer: "", inner: `,"disaggregated_params":${handle}` };
		const usage = JSON.stringify(this.#prefillUsage());
		return new Response(
			`{"id":"p","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"t0"},"finish_reason":"length"${field.inner}}],"usage":${usage}${field.outer}}`,
			{ headers: { "content-type": "application/json" } },
		);
	}

	/** A decode engine of vLLM or TensorRT-LLM. */
	async #consume(call: EngineCall): Promise<Response> {
		const { protocol, now = () => 0 } = this.#options;
		const { body, headers, host, text } = call;
		const params = protocol === "nixl" ? body.kv_transfer_params : body.disaggregated_params;
		if (params === undefined) return this.#generate(call, 0);
		const id = (protocol === "nixl" ? /\[\[1,2,(\d+)\]\]/ : /"ctx_request_id":(\d+)/).exec(text)?.[1];
		const handle = this.handles.find((one) => one.id === id);
		const type = protocol === "nixl" ? true : "generation_only";
		const sentType =
			isRecord(params) && (protocol === "nixl" ? params.do_remote_prefill : params.request_type);
		const problem =
			(!handle && `no handle ${id}`) ||
			(handle?.end === "used" && "the handle was used before") ||
			(handle && now() >= handle.expiresAt && "the handle has expired") ||
			(handle?.messages !== JSON.stringify(body.messages) && "the handle is of another prompt") ||
			(handle?.requestId !== headers.get("x-request-id") && "another request id") ||
			(sentType !== type && `request type ${sentType}`);
		if (problem || !handle) {
			this.violations.push(`${host}: ${problem}`);
			return refusal(500, String(problem));
		}
		if (handle.end === "lost") return refusal(500, "KV load failure");
		handle.end = "used";
		return this.#generate(call, PROMPT_TOKENS - 1);
	}

	/** Both engines of SGLang. */
	async #meet(call: EngineCall): Promise<Response> {
		const { body, fault, host, stage } = call;
		const { bootstrap_host: bootstrapHost, bootstrap_port: port, messages } = body;
		const rooms = JSON.stringify(body.bootstrap_room);
		const room = this.#rooms.get(rooms) ?? {
			prefill: Promise.withResolvers<void>(),
			decode: Promise.withResolvers<void>(),
			transferred: Promise.withResolvers<void>(),
			answered: Promise.withResolvers<void>(),
			joined: new Set<string>(),
			messages: JSON.stringify(messages),
		};
		this.#rooms.set(rooms, room);
		const hostOfPrefill = Array.isArray(bootstrapHost) ? bootstrapHost[0] : bootstrapHost;
		if (room.joined.has(stage)) this.violations.push(`${host}: the room ${rooms} was used before`);
		if (room.messages !== JSON.stringify(messages)) this.violations.push(`${host}: another prompt`);
		if (JSON.stringify(port).replaceAll(/[[\]]/g, "").split(",")[0] !== "8998")
			this.violations.push(`${host}: port ${JSON.stringify(port)}`);
		room.joined.add(stage);
		if (stage === "prefill") {
			if (hostOfPrefill !== host) this.violations.push(`${host}: met at ${hostOfPrefill}`);
			if (fault === "reset") throw new Error("connection reset");
			room.prefill.resolve();
			await room.decode.promise;
			room.transferred.resolve();
			if (fault === "lost") {
				await room.answered.promise;
				throw new Error("connection reset");
			}
			return this.#generate({ ...call, fault: undefined }, CACHED_TOKENS, 1);
		}
		if (fault === "reset") throw new Error("connection reset");
		room.decode.resolve();
		// Without its prefill engine it waits, as the real one does for minutes.
		await room.transferred.promise;
		// Until then the gateway has read the first token, also on a busy machine.
		setTimeout(room.answered.resolve, 100);
		return this.#generate(call, PROMPT_TOKENS - 1);
	}

	#prefillUsage(): object {
		const { reportsCache = true } = this.#options;
		return {
			prompt_tokens: PROMPT_TOKENS,
			completion_tokens: 1,
			total_tokens: PROMPT_TOKENS + 1,
			prompt_tokens_details: reportsCache ? { cached_tokens: CACHED_TOKENS } : null,
		};
	}

	#generate({ body, fault }: EngineCall, cached: number, count = TOKENS.length): Response {
		if (fault === "reset") throw new Error("connection reset");
		const tokens = TOKENS.slice(0, count);
		const usage = {
			prompt_tokens: PROMPT_TOKENS,
			completion_tokens: count,
			total_tokens: PROMPT_TOKENS + count,
			prompt_tokens_details: { cached_tokens: cached },
		};
		const indexes = Array.from({ length: typeof body.n === "number" ? body.n : 1 }, (_, i) => i);
		if (body.stream !== true) {
			const message = { role: "assistant", content: tokens.join("") };
			const choices = indexes.map((index) => ({ index, message, finish_reason: "stop" }));
			return Response.json({ id: "c", object: "chat.completion", created: 1, model: "m", choices, usage });
		}
		const frame = (choices: unknown[], fields: object = {}) =>
			`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices, ...fields })}\n\n`;
		const frames = [
			...tokens.map((content) =>
				frame(indexes.map((index) => ({ index, delta: { content }, finish_reason: null }))),
			),
			frame(indexes.map((index) => ({ index, delta: {}, finish_reason: "stop" }))),
			frame([], { usage }),
			"data: [DONE]\n\n",
		];
		return new Response(streamOf(frames, fault === "cut" ? Math.ceil(count / 2) : undefined), {
			headers: { "content-type": "text/event-stream" },
		});
	}
}

const FIELDS: Record<DisaggregationName, readonly string[]> = {
	nixl: ["kv_transfer_params"],
	sglang: ["bootstrap_host", "bootstrap_port", "bootstrap_room"],
	"tensorrt-llm": ["disaggregated_params"],
};

const NIXL_REQUEST = JSON.stringify({
	do_remote_decode: true,
	do_remote_prefill: false,
	remote_engine_id: null,
	remote_block_ids: null,
	remote_host: null,
	remote_port: null,
});

const refusal = (status: number, message: string, headers: Record<string, string> = {}): Response =>
	Response.json({ error: { message } }, { status, headers });

const pause = () => new Promise((resolve) => setTimeout(resolve));

/** A stream of these texts. `cut`: the connection breaks after so many. */
function streamOf(frames: string[], cut = Number.POSITIVE_INFINITY): ReadableStream<Uint8Array> {
	let sent = 0;
	return new ReadableStream(
		{
			async pull(controller) {
				await pause();
				const frame = frames[sent];
				if (sent === cut) controller.error(new Error("connection reset"));
				else if (frame === undefined) controller.close();
				else controller.enqueue(new TextEncoder().encode(frame));
				sent++;
			},
		},
		{ highWaterMark: 0 },
	);
}

/** As `fetch`: the call ends when its signal fires. */
function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
	const { promise, reject } = Promise.withResolvers<never>();
	const abort = () => reject(new DOMException("aborted", "AbortError"));
	if (signal.aborted) abort();
	signal.addEventListener("abort", abort);
	work.catch(() => {});
	return Promise.race([work, promise]);
}
