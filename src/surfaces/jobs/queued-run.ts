/**
 * The product's asynchronous queue (developers.cloudflare.com/workers-ai/features/batch-api): `run` with `queueRequest` and `requests`
 * answers with a `request_id`, and a later `run` with it answers with the state, or with all results.
 *
 * Differences: every model has a queue; each request is a line of a batch (`src/jobs`). Unknown at the product: the answer to an unknown
 * `request_id` (here 8001), and the results of requests that failed (here `success: false` and `error`).
 */
import { isRecord } from "../../core/json.ts";
import { loadDialect } from "../../dialects/index.ts";
import { invalidInput } from "../../dialects/invalid-input.ts";
import { choosesModel } from "../../gateways/run/model-in-gateway.ts";
import { isProviderModel } from "../../gateways/run/provider-names.ts";
import { identifyCaller } from "../../http/authenticate.ts";
import { hasEnded } from "../../jobs/batches/records.ts";
import { resolveModel } from "../../pipeline/resolve-model.ts";
import { inScope } from "../../responses/client/stored-responses.ts";
import { type BatchCall, batchResults, createInlineBatch, inlineRecord } from "./manage-batch.ts";
import { type BodyPart, commaSeparated, joined } from "./stored-lines.ts";

/** The endpoint of such batches: the model's own inputs and outputs. */
export const NATIVE_ENDPOINT = "/run";

const MAX_REQUESTS = 50_000;

interface QueuedRun {
	model: string;
	/** The inputs of the run. */
	fields: unknown;
	/** The option of the run. Not needed with a `request_id`. */
	queueRequest: boolean;
	/** They choose the gateway of the requests. */
	headers: Headers;
}

/** A text before and after the JSON of the answer. */
interface AnswerFrame {
	start: string;
	end: string;
}

export const NO_FRAME: AnswerFrame = { start: "", end: "" };

/** Whether the run belongs to the queue: it adds requests, or asks for their state. */
export const isQueued = ({ fields, queueRequest }: Pick<QueuedRun, "fields" | "queueRequest">): boolean =>
	isRecord(fields) && (isPoll(fields) || (queueRequest && Array.isArray(fields.requests)));

const isPoll = (fields: Record<string, unknown>): boolean =>
	typeof fields.request_id === "string" && fields.requests === undefined;

/** The JSON of the answer. Throws 8001. */
export async function answerQueued(
	{ model, fields, headers }: QueuedRun,
	{ caller, services }: BatchCall,
	{ start, end }: AnswerFrame,
): Promise<ReadableStream<Uint8Array>> {
	const call = { caller: await identifyCaller(caller, services.ledgers), services };
	const { request_id: id, requests } = isRecord(fields) ? fields : {};
	if (Array.isArray(requests)) return joined([start, await enqueue(requests, { model, headers }, call), end]);
	return joined([start, ...(await poll(String(id), call)), end]);
}

async function enqueue(
	requests: readonly unknown[],
	{ model, headers }: Pick<QueuedRun, "model" | "headers">,
	call: BatchCall,
): Promise<string> {
	const { caller, services } = call;
	if (requests.length === 0 || requests.length > MAX_REQUESTS)
		throw invalidInput(`requests: expected 1 to ${MAX_REQUESTS} requests`);
	if (!isProviderModel(model) && !choosesModel(model))
		await loadDialect((await resolveModel(model, caller, services)).model);
	const id = services.uuid();
	const record = inlineRecord(
		{ id, api: "workers-ai", endpoint: NATIVE_ENDPOINT, model, total: requests.length },
		call,
	);
	const lines = requests.map((request, index) => {
		if (!isRecord(request)) throw invalidInput(`requests[${index}]: expected an object`);
		const { external_reference: reference = null, ...input } = request;
		if (reference !== null && typeof reference !== "string")
			throw invalidInput(`requests[${index}].external_reference: expected a text`);
		if (input.stream === true) throw invalidInput(`requests[${index}].stream: the queue has no streams`);
		return { customId: JSON.stringify([index, reference]), body: { model, input } };
	});
	await createInlineBatch(record, { headers, requests: lines }, call);
	return JSON.stringify({ status: "queued", request_id: id, model });
}

async function poll(id: string, { caller, services }: BatchCall): Promise<BodyPart[]> {
	const found = await inScope(
		caller,
		(scope) => services.jobs.batches(caller.account, (batches) => batches.get(id, "workers-ai", scope)),
		services,
	);
	if (!found.ok) throw invalidInput("request_id: no such request");
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
	const results = await batchResults(found.value, { caller, services });
	if (!results) throw invalidInput("request_id: the results were deleted");
	return ['{"responses":[', commaSeparated(results), `],"usage":${JSON.stringify(counts)}}`];
}
