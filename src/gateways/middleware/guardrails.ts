/**
 * Judges the prompt and the answer of a step with Llama Guard, and prompt injections with Prompt Guard. A rule of the gateway flags or
 * blocks each hazard. Without a judgement, a phase with any BLOCK refuses the request, and a phase with only FLAG lets it pass.
 *
 * The answer has to be complete before it can be refused, so a stream is buffered and sent as one piece. On the run API a stream is
 * judged after it was sent, and never refused, and so is every answer if no rule blocks. An answer without text passes unread.
 */
import { AiError } from "../../core/errors.ts";
import { SSE_CONTENT_TYPE } from "../../streams/sse.ts";
import { chunksOf } from "../../tasks/moderation/chunks.ts";
import { recorded } from "../cache/recording.ts";
import {
	decide,
	type GuardrailPhase,
	type GuardrailResult,
	type HazardRules,
	hasBlock,
	INJECTION,
	type Judgement,
	rulesOf,
} from "../guardrails/decision.ts";
import type { GatewayMiddleware, GatewayRequest } from "../request.ts";
import { checkedResponse, MAX_SCANNED_BYTES } from "../scanning/buffered.ts";
import { judgedTexts } from "../scanning/judged-texts.ts";
import { mayHaveTexts, responseTexts } from "../scanning/texts.ts";

/** A message of the conversation whose last message is judged. */
interface GuardMessage {
	role: "user" | "assistant";
	content: string;
}

export interface GuardrailServices {
	/** Runs Llama Guard for the caller's account. Throws if it is unavailable. */
	judge(messages: readonly GuardMessage[], signal: AbortSignal): Promise<Judgement>;
	/** Runs Prompt Guard: whether the text is an injection. Throws if it is unavailable. */
	detectInjection(text: string, signal: AbortSignal): Promise<boolean>;
	waitUntil(promise: Promise<unknown>): void;
}

/** Parts of a text that are judged at the same time. */
const PARALLEL = 4;
/** The end of the prompt, as the context of an answer. */
const CONTEXT_CHARACTERS = 2_000;

export const guardrailMiddleware =
	(services: GuardrailServices): GatewayMiddleware =>
	async (request, next) => {
		const { step, settings } = request;
		const rules = { prompt: rulesOf(settings, "prompt"), response: rulesOf(settings, "response") };
		if (isEmpty(rules.prompt) && isEmpty(rules.response)) return next(request);
		const { text: prompt, isUnreadable } = await judgedTexts(step);
		const evaluation = { request, services, prompt };
		// A prompt that cannot be judged must not pass a rule that blocks.
		if (isUnreadable && hasBlock(rules.prompt)) throw unreadable(request);
		if (!isEmpty(rules.prompt))
			enforce(await evaluate(prompt, { ...evaluation, phase: "prompt", rules: rules.prompt }), evaluation);
		const response = await next(request);
		if (isEmpty(rules.response) || !response.ok || !response.body) return response;
		return scanResponse(response, { ...evaluation, phase: "response", rules: rules.response });
	};

const UNREADABLE =
	"The request has a part that guardrails cannot read: token ids, a form that is broken, or a character set that is unknown";

function unreadable({ exchange, step }: GatewayRequest): AiError {
	exchange.report({
		guardrails: [...(exchange.facts.guardrails ?? []), { phase: "prompt", action: "BLOCK", categories: [] }],
	});
	return new AiError(step.plane === "run" ? "runPromptBlocked" : "promptBlocked", UNREADABLE);
}

interface Evaluation {
	request: GatewayRequest;
	services: GuardrailServices;
	prompt: string;
	phase: GuardrailPhase;
	rules: HazardRules;
}

async function scanResponse(response: Response, evaluation: Evaluation): Promise<Response> {
	const { request, rules, services } = evaluation;
	const contentType = response.headers.get("content-type") ?? "";
	const isStream = contentType.toLowerCase().startsWith(SSE_CONTENT_TYPE);
	if (!mayHaveTexts(contentType)) {
		await evaluate("", evaluation);
		return response;
	}
	const textsOf = (bytes: Uint8Array): string => responseTexts(contentType, bytes).join("\n");
	const isSentFirst = !hasBlock(rules) || (isStream && request.step.plane === "run");
	if (isSentFirst && response.body) {
		const { body, complete, release } = recorded(response.body, MAX_SCANNED_BYTES, request);
		// An answer that was not buffered has no judgement.
		const scan = complete
			.then((bytes) => (bytes ? evaluate(textsOf(bytes), evaluation) : undefined))
			.finally(release);
		request.exchange.reportAfter(scan);
		services.waitUntil(scan);
		return new Response(body, response);
	}
	const checked = await checkedResponse(response, request, async (bytes) =>
		enforce(await evaluate(textsOf(bytes), evaluation), evaluation),
	);
	if (!checked) throw new AiError("guardrailsUnavailable");
	return checked;
}

/** Reports the result. Never throws. */
async function evaluate(text: string, evaluation: Evaluation): Promise<GuardrailResult> {
	const { phase, request, rules } = evaluation;
	const { exchange } = request;
	let result: GuardrailResult;
	try {
		result = decide(phase, rules, text === "" ? [] : await judgements(text, evaluation));
	} catch {
		result = { phase, categories: [], unavailable: true, ...(hasBlock(rules) && { action: "BLOCK" }) };
	}
	exchange.report({ guardrails: [...(exchange.facts.guardrails ?? []), result] });
	return result;
}

async function judgements(text: string, evaluation: Evaluation): Promise<Judgement[]> {
	const { phase, prompt, request, rules, services } = evaluation;
	const { signal } = request;
	const isInjectionChecked = rules[INJECTION] !== undefined;
	const isHazardChecked = Object.keys(rules).some((hazard) => hazard !== INJECTION);
	const messagesOf = (content: string): GuardMessage[] =>
		phase === "prompt"
			? [{ role: "user", content }]
			: [
					{ role: "user", content: prompt.slice(-CONTEXT_CHARACTERS) },
					{ role: "assistant", content },
				];
	const judgeChunk = async (chunk: string): Promise<Judgement[]> =>
		Promise.all([
			...(isHazardChecked ? [services.judge(messagesOf(chunk), signal)] : []),
			...(isInjectionChecked
				? [services.detectInjection(chunk, signal).then((found) => judgementOf(found))]
				: []),
		]);
	const chunks = chunksOf(text);
	const all: Judgement[] = [];
	for (let at = 0; at < chunks.length; at += PARALLEL) {
		all.push(...(await Promise.all(chunks.slice(at, at + PARALLEL).map(judgeChunk))).flat());
		// The other parts cannot change this decision.
		if (decide(phase, rules, all).action === "BLOCK") break;
	}
	return all;
}

const judgementOf = (isInjection: boolean): Judgement => ({
	safe: !isInjection,
	categories: isInjection ? [INJECTION] : [],
});

/** Throws if the request is blocked. The run API has other codes and statuses than the other interfaces. */
function enforce(
	{ action, phase, unavailable }: GuardrailResult,
	{ request }: Pick<Evaluation, "request">,
): void {
	if (action !== "BLOCK") return;
	if (unavailable) throw new AiError("guardrailsUnavailable");
	const isRun = request.step.plane === "run";
	if (phase === "prompt") throw new AiError(isRun ? "runPromptBlocked" : "promptBlocked");
	throw new AiError(isRun ? "runResponseBlocked" : "responseBlocked");
}

const isEmpty = (rules: HazardRules): boolean => Object.keys(rules).length === 0;
