/**
 * A line of a replay: the request of a log runs on another model, in the gateway of the log, so that its data-loss rules, guardrails and limits
 * apply. The new request has no log of its own. A judge is a second request of the line, and its bill one of the line's.
 */
import { AiError, toAiError } from "../../core/errors.ts";
import { BufferHold } from "../../core/process-counts.ts";
import { answerIn } from "../../gateways/comparisons/answers.ts";
import {
	type AnswerFacts,
	comparedAnswer,
	comparisonOf,
	cut,
	factsOf,
} from "../../gateways/comparisons/comparison.ts";
import { judgeRequest, verdictIn } from "../../gateways/comparisons/judge.ts";
import type { Comparison, JudgeResult } from "../../gateways/comparisons/records.ts";
import { type SentAgain, sentAgain } from "../../gateways/comparisons/sent-request.ts";
import { GATEWAY_ID } from "../../gateways/run/model-in-gateway.ts";
import type { LineCall, RunLine } from "../../jobs/batches/run-line.ts";
import { readLog, readPayload } from "../gateway/log-access.ts";
import type { AppServices } from "../services.ts";
import { lineOf, MAX_MESSAGE, type UnloggedContext, unloggedAnswer } from "./unlogged-run.ts";

/** The endpoint of the batches that are replays. */
export const REPLAY_ENDPOINT = "/replay";
/** The body of a line. */
export interface ReplayedLine {
	/** The id of the log. */
	log: string;
	model: string;
	judge?: string;
}

const CHAT = "/chat/completions";

type Ran = Awaited<ReturnType<RunLine>>;

interface ReplayContext extends UnloggedContext {
	services: AppServices;
}

/** The answer is a comparison. The contents of the log count as buffered: without room the line runs again later. */
export async function runReplayLine(call: LineCall, context: ReplayContext): Promise<Ran> {
	const hold = new BufferHold(call.caller.account);
	try {
		return await compared(call, hold, context);
	} finally {
		hold.release();
	}
}

async function compared(call: LineCall, hold: BufferHold, context: ReplayContext): Promise<Ran> {
	const { log, model, judge } = call.fields as unknown as ReplayedLine;
	let before: StoredAnswer;
	let known: Comparison;
	try {
		before = await storedAnswer(log, { call, hold, services: context.services });
		known = { log, before: comparedAnswer(before.facts, answerIn(before.text)) };
	} catch (thrown) {
		return failed({ log }, toAiError(thrown));
	}
	const { request } = before;
	if (!request.ok)
		return failed(known, new AiError("invalidRequest", `This log cannot be replayed: ${request.reason}`));
	const answered = await unloggedAnswer({ ...call, ...lineOf(request, model) }, context);
	if (!answered.ok) return failed(known, answered.error, answered);
	try {
		const comparison = comparisonOf(log, before, answered);
		const { after } = comparison;
		if (judge !== undefined && known.before && after) {
			const { question } = request;
			comparison.judge = await judged(call, { judge, question, before: known.before, after }, context);
		}
		return { response: Response.json(comparison), failure: undefined, isFinal: true };
	} catch (thrown) {
		// An answer of nested values without end. It is billed, so the line does not run again.
		const error = toAiError(thrown);
		context.services.log(error, call.id);
		const { response } = failed(known, error);
		return { response, failure: undefined, isFinal: true };
	}
}

interface StoredAnswer {
	facts: AnswerFacts;
	request: SentAgain;
	/** The body of the answer. */
	text: string;
}

/** The token may have lost the permission to read contents since the replay was created. */
async function storedAnswer(
	log: string,
	{ call, hold, services }: { call: LineCall; hold: BufferHold; services: AppServices },
): Promise<StoredAnswer> {
	const { caller, headers } = call;
	if (caller.credential.kind === "token")
		await services.ledgers.of(caller.account).verify(caller.credential, "write");
	const name = { caller, gateway: headers.get(GATEWAY_ID) ?? "", log };
	const { row, request, response } = await readLog(name, services);
	hold.grow((row.request_size ?? 0) + (row.response_size ?? 0));
	// The log has contents that are short. Its objects have the others.
	const [sent, answer] = await Promise.all([
		request?.complete ? request : readPayload(name, "request", services),
		response?.complete ? response : readPayload(name, "response", services),
	]);
	return { facts: factsOf(row), request: sentAgain(row.path, sent.text), text: answer.text };
}

interface Judged {
	judge: string;
	question: unknown;
	before: NonNullable<Comparison["before"]>;
	after: NonNullable<Comparison["after"]>;
}

/** A judge that fails is part of the result. The line does not run again, because its answer is billed. */
async function judged(
	call: LineCall,
	{ judge, question, before, after }: Judged,
	context: ReplayContext,
): Promise<JudgeResult> {
	const fields = judgeRequest(judge, question, { before, after });
	const id = context.services.uuid();
	const answered = await unloggedAnswer({ ...call, id, endpoint: CHAT, fields }, context);
	const nothing = { model: judge, tokens_in: null, tokens_out: null, cost: null };
	if (!answered.ok) return { ...nothing, error: cut(answered.error.description, MAX_MESSAGE) };
	const { tokens_in, tokens_out, cost } = answered.facts;
	const verdict = verdictIn(answered.text);
	return {
		...{ model: judge, tokens_in, tokens_out, cost },
		...(verdict ?? { error: "The judge's answer has no score from 0 to 1" }),
	};
}

function failed(
	known: Comparison,
	error: AiError,
	{ failure, status }: { failure: AiError | undefined; status: number } = {
		failure: error,
		status: error.status,
	},
): Ran {
	const comparison: Comparison = {
		...known,
		error: { code: error.code, message: cut(error.description, MAX_MESSAGE) },
	};
	return { response: Response.json(comparison, { status }), failure };
}
