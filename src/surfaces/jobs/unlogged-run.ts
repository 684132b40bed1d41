/** Runs a request in a gateway for a comparison: it has no log of its own, and the fields of the log that it would have are returned. */
import { errorBodyOf, readError } from "../../backends/transport/error-body.ts";
import { AiError } from "../../core/errors.ts";
import { withMembers } from "../../core/with-members.ts";
import { resultWithin } from "../../core/with-timeout.ts";
import type { GatewayLogs } from "../../gateways/client/gateway-logs.ts";
import { type AnswerFacts, cut, factsOf } from "../../gateways/comparisons/comparison.ts";
import type { SentAgain } from "../../gateways/comparisons/sent-request.ts";
import type { LogRow } from "../../gateways/logs/log-row.ts";
import { GATEWAY_ID } from "../../gateways/run/model-in-gateway.ts";
import type { LineCall, RunLine } from "../../jobs/batches/run-line.ts";
import { boundedText } from "../../outbound/bounded-text.ts";
import type { AppServices } from "../services.ts";
import { geminiEndpoint } from "./gemini-batch-format.ts";

const GEMINI = geminiEndpoint("batchGenerateContent");
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** The facts of an answer are known with its end, or soon after. */
const FACTS_MS = 5_000;
/** Characters of an error. */
export const MAX_MESSAGE = 500;

export interface UnloggedContext {
	services: Pick<AppServices, "gatewayLogs">;
	run(call: LineCall, own: Pick<AppServices, "gatewayLogs">): ReturnType<RunLine>;
}

export type UnloggedAnswer =
	| { ok: true; facts: AnswerFacts; text: string }
	| { ok: false; error: AiError; status: number; failure: AiError | undefined };

/** No answer of the cache, and none for it: a comparison is one of models. The gateway makes a log, which is not stored. */
export const unloggedHeaders = (gateway: string): Headers =>
	new Headers({
		[GATEWAY_ID]: gateway,
		"cf-aig-skip-cache": "true",
		"cf-aig-cache-ttl": "0",
		"cf-aig-collect-log": "true",
		"cf-aig-collect-log-payload": "false",
	});

/** The request of a log as the call of a line. */
export function lineOf(
	{ endpoint, fields }: Extract<SentAgain, { ok: true }>,
	model: string,
): Pick<LineCall, "endpoint" | "fields"> {
	if (endpoint === "gemini") return { endpoint: GEMINI, fields: { model, request: fields } };
	return { endpoint, fields: { ...fields, model } };
}

export async function unloggedAnswer(
	call: LineCall,
	{ services, run }: UnloggedContext,
): Promise<UnloggedAnswer> {
	const captured = Promise.withResolvers<LogRow>();
	const { response, failure } = await run(call, {
		gatewayLogs: withoutLog(services.gatewayLogs, captured.resolve),
	});
	const { status } = response;
	const text = await boundedText(response.body, MAX_ANSWER_BYTES).catch(() => undefined);
	if (text === undefined) {
		const error = new AiError("upstreamUnavailable", "The answer broke off, or is too large");
		return { ok: false, error, status: error.status, failure };
	}
	if (!response.ok) {
		// A provider's failure has no error of the gateway.
		const error = failure ?? new AiError("upstreamUnavailable", providerMessage(text, status));
		return { ok: false, error, status, failure };
	}
	const row = await resultWithin(captured.promise, FACTS_MS);
	const facts = row
		? factsOf(row)
		: { provider: "", model: "", status, tokens_in: null, tokens_out: null, cost: null, duration: null };
	return { ok: true, facts, text };
}

/** The logs of the gateways, without the one of this request. */
const withoutLog = (logs: GatewayLogs, record: (row: LogRow) => void): GatewayLogs =>
	withMembers(logs, { record: (_, log) => record(log.row) });

/** `text`: the body of a provider's failure. */
const providerMessage = (text: string, status: number): string =>
	cut(readError(errorBodyOf(text)).message ?? `The model answered with the status ${status}`, MAX_MESSAGE);
