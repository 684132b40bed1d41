/**
 * The usage of a request that is passed to a provider. It is read from the bytes of the answer while they are sent to the caller, and
 * reported as soon as the provider sends counts, so an answer that is interrupted has the counts until then. A request whose caller leaves
 * before the answer, and an answer that ends early without counts, have an estimate of what was sent: otherwise a caller who leaves would
 * avoid the spend limits. If the gateway estimates, so has a complete stream. The bytes are unchanged, and a failure to read them does not
 * affect the answer.
 */
import { toAiError } from "../../core/errors.ts";
import { cacheWritesIn } from "../../core/usage.ts";
import { modelOfProvider } from "../../providers/provider-models.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";
import type { GatewayExchange } from "../exchange.ts";
import type { GatewayUsage } from "../gateway-usage.ts";
import type { GatewayServices } from "../services.ts";
import { AnswerUsage } from "../usage/answer-usage.ts";
import { EstimatedUsage } from "../usage/estimated-usage.ts";
import { tokenCost } from "../usage/token-cost.ts";
import { isEventStream, usageReader } from "../usage/usage-reader.ts";
import { authorIfKnown } from "./provider-names.ts";

interface PassedRequest {
	/** The provider's slug. */
	provider: string;
	/** The provider's name of the model. `undefined`: the request names none, and the name in the answer is used. */
	model: string | undefined;
	/** The JSON of the request. */
	fields: unknown;
	/** The usage of a complete stream without counts is estimated. */
	estimates: boolean;
	exchange: GatewayExchange;
	services: Pick<GatewayServices, "catalog" | "log">;
}

/** The caller has left before the answer, or has a shorter time for an attempt. */
export function reportUnanswered(request: PassedRequest): void {
	reportUsage(new EstimatedUsage(request.fields).usage, undefined, request);
}

/** Takes over the body, and returns one with the same bytes. */
export function withReportedUsage(
	body: ReadableStream<Uint8Array>,
	contentType: string | null,
	request: PassedRequest,
): ReadableStream<Uint8Array> {
	const answer = new AnswerUsage();
	const { fields, estimates, exchange } = request;
	const estimate = new EstimatedUsage(fields);
	const isEvents = isEventStream(contentType);
	let hasNewText = false;
	let isComplete = false;
	let reader = usageReader(
		contentType,
		(part) => {
			if (answer.add(part)) reportCounts(answer, request);
			else if (isEvents && estimate.add(part)) hasNewText = true;
		},
		{ everyEvent: isEvents, onDone: () => (isComplete = true) },
	);
	if (!reader) return body;
	const reportEstimate = (): void => {
		if (!answer.usage) reportUsage(estimate.usage, undefined, request);
		hasNewText = false;
	};
	exchange.reportAtEnd(() => {
		if (!isComplete && reader) reportEstimate();
	});
	const source = PulledStream.sourceOf(body);
	const read = (piece: Uint8Array | undefined): Uint8Array | undefined => {
		try {
			if (piece) {
				reader?.push(piece);
				if (!isEvents) estimate.addBytes(piece.byteLength);
			} else {
				reader?.end();
				isComplete = true;
			}
			if (estimates && hasNewText) reportEstimate();
		} catch (thrown) {
			reader = undefined;
			request.services.log(toAiError(thrown), exchange.id);
		}
		return piece;
	};
	return new PulledStream<Uint8Array>({
		pull: () => source.pull().then(read),
		cancel: (reason) => source.cancel(reason),
	});
}

function reportCounts({ usage, model }: AnswerUsage, request: PassedRequest): void {
	if (!usage) return;
	const { prompt_tokens, completion_tokens, prompt_tokens_details: details } = usage;
	const cacheWriteTokens = cacheWritesIn(usage);
	const counts = {
		inputTokens: prompt_tokens,
		cachedTokens: details?.cached_tokens ?? 0,
		outputTokens: completion_tokens,
		...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
	};
	reportUsage(counts, model, request);
}

/** `answered`: the model that the answer names. */
function reportUsage(usage: GatewayUsage, answered: string | undefined, request: PassedRequest): void {
	const { provider, model: requested, exchange, services } = request;
	const author = authorIfKnown(provider) ?? provider;
	const [model] = [requested, answered].flatMap(
		(name = "") => modelOfProvider(author, name, services.catalog) ?? [],
	);
	const cost = tokenCost(model, usage);
	exchange.report({
		...(model && { modelType: model.task }),
		model: exchange.facts.model ?? answered,
	});
	exchange.reportUsage(request, { ...usage, ...(cost !== undefined && { cost }) });
}
