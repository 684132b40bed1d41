/**
 * The usage of a request that is passed to a provider. It is read from the bytes of the answer while they are sent to the caller, and
 * reported as soon as the provider sends counts, so an answer that is interrupted has the counts until then. The bytes are unchanged,
 * and a failure to read them does not affect the answer.
 */
import { toAiError } from "../../core/errors.ts";
import type { GatewayExchange } from "../../gateways/exchange.ts";
import { AnswerUsage } from "../../gateways/usage/answer-usage.ts";
import { tokenCost } from "../../gateways/usage/token-cost.ts";
import { usageReader } from "../../gateways/usage/usage-reader.ts";
import type { Services } from "../../pipeline/services.ts";
import { modelOfProvider } from "../../providers/provider-models.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";
import { authorIfKnown } from "./provider-names.ts";

interface PassedRequest {
	/** The provider's slug. */
	provider: string;
	/** The provider's name of the model. `undefined`: the request names none, and the name in the answer is used. */
	model: string | undefined;
	exchange: GatewayExchange;
	services: Pick<Services, "catalog" | "log">;
}

/** Takes over the body, and returns one with the same bytes. */
export function withReportedUsage(
	body: ReadableStream<Uint8Array>,
	contentType: string | null,
	request: PassedRequest,
): ReadableStream<Uint8Array> {
	const answer = new AnswerUsage();
	let reader = usageReader(contentType, (part) => {
		if (answer.add(part)) reportUsage(answer, request);
	});
	if (!reader) return body;
	const source = PulledStream.sourceOf(body);
	const read = (piece: Uint8Array | undefined): Uint8Array | undefined => {
		try {
			if (piece) reader?.push(piece);
			else reader?.end();
		} catch (thrown) {
			reader = undefined;
			request.services.log(toAiError(thrown), request.exchange.id);
		}
		return piece;
	};
	return new PulledStream<Uint8Array>({
		pull: () => source.pull().then(read),
		cancel: (reason) => source.cancel(reason),
	});
}

function reportUsage(
	answer: AnswerUsage,
	{ provider, model: requested, exchange, services }: PassedRequest,
): void {
	const { usage, model: answered } = answer;
	if (!usage) return;
	const { prompt_tokens, completion_tokens, prompt_tokens_details: details } = usage;
	const tokens = {
		inputTokens: prompt_tokens,
		cachedTokens: details?.cached_tokens ?? 0,
		outputTokens: completion_tokens,
	};
	const author = authorIfKnown(provider) ?? provider;
	const [model] = [requested, answered].flatMap(
		(name = "") => modelOfProvider(author, name, services.catalog) ?? [],
	);
	const cost = tokenCost(model, tokens);
	exchange.report({
		...(model && { modelType: model.task }),
		model: exchange.facts.model ?? answered,
		usage: {
			...tokens,
			...(details?.cache_creation_tokens !== undefined && {
				cacheWriteTokens: details.cache_creation_tokens,
			}),
			...(cost !== undefined && { cost }),
		},
	});
}
