/**
 * How engines transfer a processed prompt from one replica to another. Each row makes the bodies of both calls, or that of the
 * second from the reply of the first. A handle, by which the second engine finds the prompt, is opaque.
 *
 * Sources: vLLM's NixlConnector and its example proxy, SGLang's router (`pd_router.rs`), TensorRT-LLM's
 * `openai_disagg_service.py`.
 *
 * If SGLang's prefill replica fails before the first token, both calls end: a decode replica without a prompt sends nothing for minutes.
 * vLLM's handles of an earlier turn are not used: they would need a memory of conversations, and a decode replica's cache has the prompt.
 */
import { isRecord } from "../../../core/json.ts";
import type { DisaggregationName } from "../../../pools/prefill-decode/settings.ts";
import type { PrefillLeg } from "../../backend.ts";

export type LegBody = Record<string, unknown>;

export interface LegBodies {
	prefill: LegBody;
	/**
	 * The body of the decode call, which starts together with the prefill call. Or a function that makes it of the reply of the
	 * prefill call; `undefined`: the reply has no handle.
	 */
	decode: LegBody | ((reply: LegBody) => LegBody | undefined);
}

interface LegContext {
	leg: PrefillLeg;
	/** Number of answers. */
	choices: number;
}

/** SGLang's default of `--disaggregation-bootstrap-port`. */
const DEFAULT_BOOTSTRAP_PORT = 8998;

type Protocol = (body: LegBody, context: LegContext) => LegBodies;

export const PROTOCOLS: Readonly<Record<DisaggregationName, Protocol>> = {
	/** The decode engine pulls the prompt's blocks from the prefill engine, which keeps them for 30 seconds. */
	nixl: (body, { leg: { disaggregation, target } }) => ({
		prefill: {
			...oneToken(body),
			kv_transfer_params: {
				do_remote_decode: true,
				do_remote_prefill: false,
				remote_engine_id: null,
				remote_block_ids: null,
				remote_host: null,
				remote_port: null,
			},
		},
		decode: ({ kv_transfer_params: handle }) => {
			if (!isRecord(handle)) return undefined;
			const host = disaggregation.rewriteRemoteHost ? { remote_host: hostnameOf(target.url) } : {};
			return { ...body, kv_transfer_params: { ...handle, ...host } };
		},
	}),

	/** Both engines get the same request, and meet in a room of the prefill engine: one room for each choice. */
	sglang: (body, { choices, leg: { disaggregation, target } }) => {
		const host = hostnameOf(target.url);
		const port = disaggregation.bootstrapPorts[target.url] ?? DEFAULT_BOOTSTRAP_PORT;
		const list = Array.from({ length: choices });
		const both =
			choices === 1
				? { ...body, bootstrap_host: host, bootstrap_port: port, bootstrap_room: randomBits(MAX_ROOM_BITS) }
				: {
						...body,
						bootstrap_host: list.map(() => host),
						bootstrap_port: list.map(() => port),
						bootstrap_room: list.map(() => randomBits(MAX_ROOM_BITS)),
					};
		return { prefill: both, decode: both };
	},

	"tensorrt-llm": (body) => {
		// Smaller ids are those of a server's own requests.
		const disagg_request_id = MIN_REQUEST_ID + randomBits(MAX_ROOM_BITS - 1);
		return {
			prefill: {
				...oneToken(body),
				disaggregated_params: { request_type: "context_only", disagg_request_id },
			},
			decode: (reply) => {
				const handle = reply.disaggregated_params ?? firstChoice(reply)?.disaggregated_params;
				if (!isRecord(handle)) return undefined;
				const params = { ...handle, request_type: "generation_only", disagg_request_id };
				return { ...body, disaggregated_params: params };
			},
		};
	},
};

/** Rooms are integers up to 2^63 - 1; larger ones than 2^53 - 1 would be rounded. */
const MAX_ROOM_BITS = 53;
const MIN_REQUEST_ID = 2 ** 42;

/** The request of a prefill replica that is called before the decode replica: it processes the prompt and generates one token. */
const oneToken = ({ stream_options: _, min_tokens: __, ...body }: LegBody): LegBody => ({
	...body,
	stream: false,
	max_tokens: 1,
	max_completion_tokens: 1,
});

/** The names of hosts in brackets are IPv6 addresses. */
const hostnameOf = (url: string): string => new URL(url).hostname.replace(/^\[(.*)\]$/, "$1");

function firstChoice({ choices }: LegBody): LegBody | undefined {
	const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
	return isRecord(first) ? first : undefined;
}

/** Engines divide a room by the number of their workers, so its low bits are random, too. */
function randomBits(count: number): number {
	const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2));
	return (high % 2 ** (count - 32)) * 2 ** 32 + low;
}
