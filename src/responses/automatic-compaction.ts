/**
 * Automatic compaction (`context_management`, developers.openai.com/api/docs/guides/compaction): if the input has more tokens than the
 * threshold, the model first writes a summary of it, as for `/responses/compact`, and then answers with the summary in place of the earlier
 * items. The first item of the answer is the summary. In later requests it replaces all items before it, except rules for the model.
 *
 * The summary is a request of its own: it is admitted, metered and billed, and its failure is that of the response. A response is not
 * compacted if the model wrote no complete summary; then `x-ganglion-dropped` names the field.
 *
 * Differences from OpenAI: the summary is written before the answer, never during it. The last step of the caller stays in the request as
 * it is. Without a threshold, it is 80 % of the model's context window.
 */
import { compactsItself } from "../backends/own-features.ts";
import { toAiError } from "../core/errors.ts";
import { isRecord } from "../core/json.ts";
import { EmptySummary } from "../dialects/responses/compaction.ts";
import { hasOwnSummary, isInstruction, replacingSummary } from "../dialects/responses/summary.ts";
import { parse } from "../pipeline/prepare.ts";
import type { InferenceRequest, Reply } from "../pipeline/request.ts";
import { type ResolvedModel, requireKey, resolveModel } from "../pipeline/resolve-model.ts";
import type { PipelineServices } from "../pipeline/services.ts";
import { PulledStream } from "../streams/pulled-stream.ts";
import { countInput } from "../tasks/traits.ts";
import type { SearchServices } from "../websearch/services.ts";
import { CompactedEvents } from "./compacted-events.ts";
import { newId } from "./ids.ts";
import { itemsIn } from "./input.ts";
import type { ResponseJson } from "./response-object.ts";
import { runOnce } from "./run-once.ts";

type Fields = Record<string, unknown>;

const DEFAULT_SHARE = 0.8;
/** Of a summary. Some models have no more output. */
const SUMMARY_TOKENS = 4_096;
const MIN_SUMMARY_TOKENS = 256;

export async function runCompacted(request: InferenceRequest, services: SearchServices): Promise<Reply> {
	const { fields } = request.inputs;
	const length = isRecord(fields) ? await lengthOf(request, fields, services) : undefined;
	if (!isRecord(fields) || length === undefined) return runOnce(request, services);
	const { context_management: _, ...own } = fields;
	if (length.tokens <= length.threshold) return runOnce(withFields(request, own), services);
	const items = itemsIn(fields.input);
	const summary = await summaryOf(request, { own, items, ...length }, services);
	if (!summary) return droppedFrom(await runOnce(withFields(request, own), services));
	const reply = await runOnce(
		withFields(request, { ...own, input: inputAfter(items, summary.item) }),
		services,
	);
	return withSummary(reply, summary);
}

const withFields = (request: InferenceRequest, fields: Fields): InferenceRequest => ({
	...request,
	inputs: { ...request.inputs, fields },
});

const droppedFrom = (reply: Reply): Reply => ({
	...reply,
	dropped: [...(reply.dropped ?? []), "context_management"],
});

interface InputLength {
	tokens: number;
	threshold: number;
	contextWindow: number | undefined;
}

/** `undefined`: the gateway does not compact. The run then has the failure of a request that cannot be read. */
async function lengthOf(
	{ caller, dialect, model: name }: InferenceRequest,
	fields: Fields,
	services: PipelineServices,
): Promise<InputLength | undefined> {
	const compaction = compactionIn(fields);
	if (!compaction) return undefined;
	// Nothing is counted for a caller without a valid credential.
	if (!caller.verified) await services.ledgers.of(caller.account).verify(caller.credential, "run");
	let found: ResolvedModel;
	let tokens: number | undefined;
	try {
		found = await resolveModel(name, caller, services);
		const { model, routed } = found;
		if (routed?.targets.every(compactsItself) && !hasOwnSummary(fields.input)) return undefined;
		const { call } = await parse({ fields }, await dialect(model), { model, routed });
		requireKey(found);
		tokens = countInput(call);
	} catch {
		return undefined;
	}
	const { contextWindow } = found.model;
	const threshold =
		compaction.compact_threshold ?? (contextWindow && Math.floor(contextWindow * DEFAULT_SHARE));
	return tokens === undefined || threshold === undefined ? undefined : { tokens, threshold, contextWindow };
}

/** The dialect has checked the field. Entries of other types are dropped. */
const compactionIn = ({ context_management: entries }: Fields): { compact_threshold?: number } | undefined =>
	Array.isArray(entries) ? entries.find((each) => isRecord(each) && each.type === "compaction") : undefined;

interface Summary {
	item: { id: string; type: "compaction"; encrypted_content: string };
	usage: unknown;
	neurons: number | undefined;
}

/** `undefined`: the model wrote none, or did not end it. */
async function summaryOf(
	request: InferenceRequest,
	{ own, items, tokens, contextWindow }: InputLength & { own: Fields; items: unknown[] },
	services: SearchServices,
): Promise<Summary | undefined> {
	const { include: _, stream: __, ...fields } = own;
	const room = contextWindow === undefined ? SUMMARY_TOKENS : contextWindow - tokens - MIN_SUMMARY_TOKENS;
	const sent = {
		...fields,
		store: false,
		max_output_tokens: Math.max(MIN_SUMMARY_TOKENS, Math.min(SUMMARY_TOKENS, room)),
		input: [...items, { type: "compaction_trigger" }],
	};
	const { singleFlight: ___, ...options } = request.options ?? {};
	const summaryRequest = { ...withFields(request, sent), id: services.uuid(), options };
	let reply: Reply;
	try {
		reply = await runOnce(summaryRequest, services);
	} catch (thrown) {
		if (toAiError(thrown).cause instanceof EmptySummary) return undefined;
		throw thrown;
	}
	const { body, neurons } = reply;
	const value = body.kind === "json" && isRecord(body.value) ? body.value : {};
	const [written] = Array.isArray(value.output) ? value.output : [];
	if (value.status !== "completed" || !isRecord(written)) return undefined;
	const encrypted_content = replacingSummary(String(written.encrypted_content));
	const item = { id: newId("cmp", services.uuid), type: "compaction" as const, encrypted_content };
	return { item, usage: value.usage, neurons };
}

/** The last step of the caller stays. If nothing is before it, the summary is for later requests only. */
function inputAfter(items: readonly unknown[], summary: unknown): unknown[] {
	const start = lastStep(items);
	const isShorter = items.slice(0, start).some((item) => isRecord(item) && !isInstruction(item));
	return isShorter ? [...items.slice(0, start), summary, ...items.slice(start)] : [...items];
}

const isOutput = ({ type }: Fields): boolean => typeof type === "string" && type.endsWith("_output");
const isOfCaller = (item: Fields): boolean =>
	isOutput(item) || isInstruction(item) || ((item.type ?? "message") === "message" && item.role === "user");

/** Where the messages and results after the last answer begin. Results of tools have the calls of that answer before them. */
function lastStep(items: readonly unknown[]): number {
	const at = (index: number): Fields => (isRecord(items[index]) ? (items[index] as Fields) : {});
	let start = items.length;
	while (start > 0 && isOfCaller(at(start - 1))) start--;
	const own = items.slice(start).filter(isRecord);
	if (!own.some(isOutput)) return start;
	while (start > 0 && !isOfCaller(at(start - 1))) start--;
	return start;
}

function withSummary(reply: Reply, summary: Summary): Reply {
	const { body } = reply;
	const add = (response: ResponseJson): ResponseJson => ({
		...response,
		output: [summary.item, ...(Array.isArray(response.output) ? response.output : [])],
		...(isRecord(response.usage) && { usage: sumOf(response.usage, summary.usage) }),
	});
	if (body.kind === "json" && isRecord(body.value)) {
		const neurons = (reply.neurons ?? 0) + (summary.neurons ?? 0);
		return {
			...reply,
			...(neurons > 0 && { neurons }),
			body: { ...body, value: add(body.value) },
		};
	}
	if (body.kind !== "events") return reply;
	const events = new CompactedEvents(PulledStream.sourceOf(body.events), summary.item, add);
	return { ...reply, body: { ...body, events: new PulledStream(events) } };
}

/** Of the two calls, because both are paid. */
function sumOf(one: Fields, other: unknown): Fields {
	if (!isRecord(other)) return one;
	const sum = Object.entries(one).map(([name, value]): [string, unknown] => {
		const added = other[name];
		if (typeof value === "number" && typeof added === "number") return [name, value + added];
		return [name, isRecord(value) ? sumOf(value, added) : value];
	});
	return Object.fromEntries(sum);
}
