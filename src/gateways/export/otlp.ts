/**
 * A request as a span of OpenTelemetry, in OTLP/JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): ids are
 * hexadecimal, and 64-bit numbers are text. The attributes are AI Gateway's, and those of the GenAI conventions of OpenTelemetry
 * (https://github.com/open-telemetry/semantic-conventions-genai), which collectors read.
 */
import { SSE_CONTENT_TYPE } from "../../streams/sse.ts";
import type { EndedRequest } from "../ended-request.ts";
import { collectsPayload } from "../logs/collection.ts";
import { costOf } from "../logs/cost.ts";
import { MAX_PAYLOAD, requestBody } from "../logs/payload.ts";
import {
	attributesOf,
	errorTypeOf,
	modelOf,
	NO_STATUS,
	nanoseconds,
	operationOf,
	RESOURCE,
	SCOPE,
	type Value,
} from "./attributes.ts";

const SPAN_KIND_CLIENT = 3;
const STATUS_OK = 1;
const STATUS_ERROR = 2;

/** The body of a request to `/v1/traces`. */
export function otlpTraces(request: EndedRequest): object {
	const { exchange, end, options } = request;
	const hex = exchange.id.replaceAll("-", "");
	const span = {
		traceId: (options.otelTraceId ?? hex).toLowerCase(),
		spanId: hex.slice(-16),
		...(options.otelParentSpanId !== undefined && { parentSpanId: options.otelParentSpanId.toLowerCase() }),
		name: `${operationOf(request)} ${modelOf(request)}`.trim(),
		kind: SPAN_KIND_CLIENT,
		startTimeUnixNano: nanoseconds(exchange.startedAt),
		endTimeUnixNano: nanoseconds(exchange.startedAt + end.durationMs),
		attributes: attributesOf(attributes(request)),
		status: { code: errorTypeOf(request) === undefined ? STATUS_OK : STATUS_ERROR },
	};
	return {
		resourceSpans: [
			{
				resource: RESOURCE,
				scopeSpans: [{ scope: SCOPE, spans: [span] }],
			},
		],
	};
}

function attributes(request: EndedRequest): Record<string, Value | null | undefined> {
	const { exchange, end, options, response, responseType, settings, step } = request;
	const { usage, cached, firstByteMs, status = NO_STATUS } = end;
	const isSent = step && collectsPayload(options, settings, step.body.contentType);
	const sent = isSent && requestBody(step.body, MAX_PAYLOAD);
	return {
		// The caller's names must not replace the others.
		...options.metadata,
		"gen_ai.operation.name": operationOf(request),
		"gen_ai.request.model": modelOf(request),
		"gen_ai.provider.name": end.provider ?? "",
		"gen_ai.model.provider": end.provider ?? "",
		"gen_ai.usage.input_tokens": usage?.inputTokens,
		// Parts of the input. Zero also stands for a provider that does not count them.
		"gen_ai.usage.cache_read.input_tokens": usage?.cachedTokens || undefined,
		"gen_ai.usage.cache_creation.input_tokens": usage?.cacheWriteTokens || undefined,
		"gen_ai.usage.output_tokens": usage?.outputTokens,
		"cf.aig.usage_estimated": usage?.estimated || undefined,
		"gen_ai.usage.cost": costOf(end, options),
		"gen_ai.response.time_to_first_chunk":
			firstByteMs !== undefined && responseType?.startsWith(SSE_CONTENT_TYPE)
				? firstByteMs / 1_000
				: undefined,
		"gen_ai.prompt_json": sent ? sent.payload?.text : undefined,
		"gen_ai.completion_json": response?.payload?.text.slice(0, MAX_PAYLOAD),
		"http.response.status_code": status,
		"error.type": errorTypeOf(request),
		"cf.aig.gateway": exchange.gateway,
		"cf.aig.log_id": exchange.id,
		"cf.aig.cached": cached ?? false,
	};
}
