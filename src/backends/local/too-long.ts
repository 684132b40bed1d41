/**
 * Texts that are longer than the context of an encoder. llama-server refuses them with 500, and Workers AI truncates them. The call is
 * repeated with shorter texts, so texts of the usual length cost nothing.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { readError } from "../transport/error-body.ts";
import { postJson } from "../transport/http.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { withoutVersion } from "./address.ts";

/** "input (3000 tokens) is too large to process. increase the physical batch size (current batch size: 512)" */
const TOO_LONG = /\((\d+) tokens\) is too large to process.*current batch size: (\d+)/;

interface Attempts<Output> {
	request(call: Call): Promise<Output>;
	/** Tokens that one text may have. Absent: the caller wants no truncation. */
	requestWithin: ((limit: number) => Promise<Output>) | undefined;
}

export async function withinContext<Output>(
	call: Call,
	{ request, requestWithin }: Attempts<Output>,
): Promise<Output> {
	let limit: number | undefined;
	const refusal: Call["refusal"] = (refused) => {
		const [, tokens, most] = TOO_LONG.exec(readError(refused.body).message ?? "") ?? [];
		if (most === undefined) return call.refusal?.(refused);
		limit = Number(most);
		return new AiError("refusedByModel", `Sequence too long: ${tokens} > ${most}`);
	};
	try {
		return await request({ ...call, refusal });
	} catch (error) {
		if (limit === undefined || !requestWithin) throw error;
		return requestWithin(limit);
	}
}

const Tokens = lazy(() => z.looseObject({ tokens: z.array(z.int().nonnegative()) }));
const Content = lazy(() => z.looseObject({ content: z.string() }));

/** `special`: with the marks of a beginning and an end that the model needs. */
export async function tokensOf(call: Call, text: string, special: boolean): Promise<number[]> {
	const body = { model: call.target.model, content: text, add_special: special };
	return (await postJson(withoutVersion(call), "/tokenize", body, Tokens())).tokens;
}

/** The beginning of the text. */
export async function shortened(call: Call, text: string, limit: number): Promise<string> {
	const tokens = await tokensOf(call, text, false);
	if (tokens.length <= limit) return text;
	const body = { model: call.target.model, tokens: tokens.slice(0, limit) };
	return (await postJson(withoutVersion(call), "/detokenize", body, Content())).content;
}
