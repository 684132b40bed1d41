/**
 * Finds the usage of a reply, or of one event, with OpenAI's fields. Observed: in `x_groq` (Groq); in the last choice (Moonshot); with
 * Anthropic's names of the counts (proxies).
 */
import * as z from "zod";
import { isRecord } from "../../../core/json.ts";
import { type Usage, usageOf } from "../../../core/usage.ts";

export function usageIn({ usage, x_groq, choices }: Record<string, unknown>): Usage | undefined {
	const own = countsOf(usage);
	if (own) return own;
	const groq = isRecord(x_groq) ? countsOf(x_groq.usage) : undefined;
	if (groq || !Array.isArray(choices)) return groq;
	const last: unknown = choices.at(-1);
	return isRecord(last) ? countsOf(last.usage) : undefined;
}

function countsOf(sent: unknown): Usage | undefined {
	if (!isRecord(sent)) return undefined;
	const { input_tokens, output_tokens } = sent;
	if (sent.prompt_tokens !== undefined || (input_tokens === undefined && output_tokens === undefined))
		return usageOf(sent);
	return usageOf({ ...sent, prompt_tokens: input_tokens, completion_tokens: output_tokens });
}

/** The field `usage` of a reply. */
export const ReplyUsage = z.unknown().transform(countsOf);
