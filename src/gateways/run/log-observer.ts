/** Writes the log of a request when its answer has ended. */
import type { KeptBytes } from "../../core/kept-bytes.ts";
import { present } from "../../core/present.ts";
import type { GatewayLogs } from "../client/gateway-logs.ts";
import type { EndedRequest, EndObserver } from "../ended-request.ts";
import { collectsLog, collectsPayload, retentionOf } from "../logs/collection.ts";
import { costOf } from "../logs/cost.ts";
import type { Log, LogRow } from "../logs/log-row.ts";
import { type LoggedBody, requestBody } from "../logs/payload.ts";
import { logOfRefusal, refusalOf } from "../logs/refusal.ts";
import type { GatewayOptions } from "../options.ts";

/** Characters of JSON. Larger metadata is not logged. */
const MAX_METADATA = 64 * 1024;
const MAX_PATH = 2_048;
const MAX_CONTENT_TYPE = 256;
const MAX_USER_AGENT = 512;

export const logObserver =
	(
		logs: Pick<GatewayLogs, "maxPayload" | "record">,
		bounds: Pick<KeptBytes, "logBytes" | "accountLogBytes">,
	): EndObserver =>
	(request) => {
		const { exchange, options, settings } = request;
		if (!collectsLog(options, settings)) return;
		logs.record(
			`${exchange.account}/${exchange.gateway}`,
			logOf(request, logs.maxPayload),
			retentionOf(settings, bounds),
		);
	};

/** `maxPayload`: characters of a body. */
export function logOf(request: EndedRequest, maxPayload: number): Log {
	const { end, options, settings, step, response } = request;
	const refusal = refusalOf(end);
	if (refusal)
		return logOfRefusal(rowOf(request, step && requestBody(step.body, 0)), refusal, response?.payload);
	const isCollected = step && collectsPayload(options, settings, step.body.contentType);
	const sent = step && requestBody(step.body, isCollected ? maxPayload : 0);
	return {
		row: rowOf(request, sent),
		...present({ request: sent?.payload, response: response?.payload }),
	};
}

function rowOf(
	{ exchange, end, settings, step, options, responseType, response, failed }: EndedRequest,
	sent: LoggedBody | undefined,
): LogRow {
	const { usage, cached = false, status = 500 } = end;
	const cost = costOf(end, options);
	const eventId = options.eventId ?? exchange.eventId;
	return {
		id: exchange.id,
		event_id: eventId === exchange.id ? null : eventId,
		provider: end.provider ?? step?.provider ?? "",
		model: end.model ?? step?.model ?? "",
		model_type: end.modelType ?? null,
		path: (end.path ?? "").slice(0, MAX_PATH),
		duration: end.durationMs,
		first_byte: end.firstByteMs ?? null,
		request_type: exchange.source.type,
		request_content_type: step?.body.contentType.slice(0, MAX_CONTENT_TYPE) ?? null,
		response_content_type: responseType?.slice(0, MAX_CONTENT_TYPE) ?? null,
		status_code: status,
		success: status < 400 && !failed ? 1 : 0,
		cached: cached ? 1 : 0,
		tokens_in: usage?.inputTokens ?? null,
		tokens_out: usage?.outputTokens ?? null,
		cost,
		custom_cost: options.customCost && !cached && cost !== null ? 1 : 0,
		step: end.step ?? 0,
		metadata: metadataOf(options),
		request_size: sent?.size ?? null,
		response_size: response?.size ?? null,
		user_agent: exchange.source.userAgent?.slice(0, MAX_USER_AGENT) ?? null,
		dlp_action: end.dlp?.action ?? null,
		dlp: end.dlp ? JSON.stringify(end.dlp) : null,
		guardrails: end.guardrails ? JSON.stringify(end.guardrails) : null,
		byok: end.byok ? 1 : 0,
		authentication: settings.authentication === false ? 0 : 1,
		wholesale: 0,
		compatibility_mode: step?.provider === "compat" || step?.compat ? 1 : 0,
		feedback: null,
		score: null,
		usage_estimated: usage?.estimated ? 1 : 0,
	};
}

function metadataOf({ metadata }: GatewayOptions): string | null {
	if (!metadata || Object.keys(metadata).length === 0) return null;
	const text = JSON.stringify(metadata);
	return text.length <= MAX_METADATA ? text : null;
}
