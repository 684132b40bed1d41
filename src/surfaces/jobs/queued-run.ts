/**
 * The product's asynchronous queue (developers.cloudflare.com/workers-ai/features/batch-api): `run` with `queueRequest` and `requests`
 * answers with a `request_id`, and a later `run` with it answers with the state, or with all results.
 *
 * Differences: every model has a queue; each request is a line of a batch (`src/jobs`). Unknown at the product: the answer to an unknown
 * `request_id` (here 8001), and the results of requests that failed (here `success: false` and `error`).
 */
import { isRecord } from "../../core/json.ts";
import { quotedName } from "../../core/not-found.ts";
import { loadDialect } from "../../dialects/index.ts";
import { invalidInput } from "../../dialects/invalid-input.ts";
import { choosesModel } from "../../gateways/run/model-in-gateway.ts";
import { isProviderModel } from "../../gateways/run/provider-names.ts";
import { identifyCaller } from "../../http/authenticate.ts";
import { hasEnded } from "../../jobs/batches/records.ts";
import { requireKey, resolveModel } from "../../pipeline/resolve-model.ts";
import { inScope } from "../../responses/client/stored-responses.ts";
import { type BatchCall, batchResults, createInlineBatch, inlineRecord } from "./manage-batch.ts";
import { NATIVE_ENDPOINT } from "./native-endpoint.ts";
import { type BodyPart, commaSeparated, joined } from "./stored-lines.ts";

const MAX_REQUESTS = 50_000;
/** Without `queueRequest`. */
const MAX_AT_ONCE = 100;

interface QueuedRun {
	model: string;
	/** The inputs of the run. */
	fields: unknown;
	/** The option of the run. Without it `requests` are answered at once. Not needed with a `request_id`. */
	queueRequest: boolean;
	/** They choose the gateway of the requests. */
	headers: Headers;
	/** Fires when the caller leaves. Absent over RPC. */
	signal?: AbortSignal;
}

/** A text before and after the JSON of the answer. */
interface AnswerFrame {
	start: string;
	end: string;
}

export const NO_FRAME: AnswerFrame = { start: "", end: "" };

/** Whether the run has many requests, or asks for the state of those in the queue. */
export const hasRequests = ({ fields }: Pick<QueuedRun, "fields">): boolean =>
	isRecord(fields) && (isPoll(fields) || Array.isArray(fields.requests));

const isPoll = (fields: Record<string, unknown>): boolean =>
	typeof fields.request_id === "string" && fields.requests === undefined;

/** The JSON of the answer. Throws 8001. */
export async function answerQueued(
	{ model, fields, queueRequest, headers, signal }: QueuedRun,
	{ caller, services }: BatchCall,
	{ start, end }: AnswerFrame,
): Promise<ReadableStream<Uint8Array>> {
	const call = { caller: await identifyCaller(caller, services.ledgers), services };
	const { request_id: id, requests } = isRecord(fields) ? fields : {};
	if (Array.isArray(requests) && queueRequest)
		return joined([start, await enqueue(requests, { model, headers }, call), end]);
	if (Array.isArray(requests)) {
		const lines = await readRequests(requests, { model, max: MAX_AT_ONCE }, call);
		const { answersAtOnce } = await import("./answers-at-once.ts");
		return joined([start, answersAtOnce(lines, headers, call), end]);
	}
	return joined([start, ...(await poll(String(id), call, signal)), end]);
}

async function enqueue(
	requests: readonly unknown[],
	{ model, headers }: Pick<QueuedRun, "model" | "headers">,
	call: BatchCall,
): Promise<string> {
	const lines = await readRequests(requests, { model, max: MAX_REQUESTS }, call);
	const id = call.services.uuid();
	const record = inlineRecord(
		{ id, api: "workers-ai", endpoint: NATIVE_ENDPOINT, model, total: lines.length },
		call,
	);
	await createInlineBatch(record, { headers, requests: lines }, call);
	return JSON.stringify({ status: "queued", request_id: id, model });
}

/** Throws 8001. The inputs of each request are read when it runs. */
async function readRequests(
	requests: readonly unknown[],
	{ model, max }: { model: string; max: number },
	{ caller, services }: BatchCall,
): Promise<{ customId: string; body: object }[]> {
	if (requests.length === 0 || requests.length > max)
		throw invalidInput(
			`requests: expected 1 to ${max} requests${max < MAX_REQUESTS ? " without queueRequest" : ""}`,
		);
	const resolved =
		isProviderModel(model) || choosesModel(model) ? undefined : await resolveModel(model, caller, services);
	if (resolved) await loadDialect(resolved.model);
	const read = requests.map((request, index) => {
		if (!isRecord(request)) throw invalidInput(`requests[${index}]: expected an object`);
		const { external_reference: reference = null, ...input } = request;
		if (reference !== null && typeof reference !== "string")
			throw invalidInput(`requests[${index}].external_reference: expected a text`);
		if (input.stream === true) throw invalidInput(`requests[${index}].stream: the queue has no streams`);
		return { customId: JSON.stringify([index, reference]), body: { model, input } };
	});
	if (resolved) requireKey(resolved);
	return read;
}

async function poll(
	id: string,
	{ caller, services }: BatchCall,
	signal: AbortSignal | undefined,
): Promise<BodyPart[]> {
	const found = await inScope(
		caller,
		(scope) => services.jobs.batches(caller.account, (batches) => batches.get(id, "workers-ai", scope)),
		services,
	);
	if (!found.ok) throw invalidInput(`request_id: no such request: ${quotedName(id)}`);
	const { status, succeeded, failed, usage, waiting } = found.value;
	if (!hasEnded(found.value) || status === "failed") {
		const state = succeeded + failed > 0 ? "running" : "queued";
		const shown = {
			status: status === "failed" ? "failed" : state,
			request_id: id,
			...(waiting && { waiting: { code: waiting.code, message: waiting.message } }),
		};
		return [JSON.stringify(shown)];
	}
	const counts = {
		prompt_tokens: usage.inputTokens,
		completion_tokens: usage.outputTokens,
		total_tokens: usage.inputTokens + usage.outputTokens,
	};
	const results = await batchResults(found.value, { caller, services }, signal);
	if (!results) throw invalidInput("request_id: the results were deleted");
	return ['{"responses":[', commaSeparated(results), `],"usage":${JSON.stringify(counts)}}`];
}
