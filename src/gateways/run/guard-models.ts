/**
 * The models of guardrails, run through the pipeline for the account of the request, which pays for them. Prompt Guard is not a model of
 * the catalogue: it is available if a route names it.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { loadDialect } from "../../dialects/index.ts";
import { isServed } from "../../pipeline/is-served.ts";
import type { Caller } from "../../pipeline/request.ts";
import { run } from "../../pipeline/run.ts";
import { INJECTION } from "../guardrails/decision.ts";
import type { GuardrailServices } from "../middleware/guardrails.ts";
import type { GatewayServices } from "../services.ts";

const LLAMA_GUARD = "@cf/meta/llama-guard-3-8b";
const PROMPT_GUARD = "@cf/meta/prompt-guard-2-86m";
/** A verdict and all categories. */
const MAX_TOKENS = 100;

const Judged = lazy(() =>
	z.object({ response: z.object({ safe: z.boolean(), categories: z.array(z.string()) }) }),
);
/** The native formats of chat models. A model that only a route names has OpenAI's. */
const Labelled = lazy(() =>
	z.union([
		z.object({ response: z.string() }).transform(({ response }) => response),
		z
			.object({
				choices: z.tuple([z.object({ message: z.object({ content: z.string() }) })]).rest(z.unknown()),
			})
			.transform(({ choices: [{ message }] }) => message.content),
	]),
);
/** Prompt Guard's labels: 86M version 2 answers LABEL_0 (benign) or LABEL_1 (malicious). */
const LABEL = /\b(?:LABEL_([01])|(benign)|malicious|injection|jailbreak)\b/i;

/** The model that the rules of these hazards need and that cannot run here. `undefined`: all can. */
export function unservedGuard(hazards: readonly string[], services: GatewayServices): string | undefined {
	const { catalog, routing } = services;
	const llamaGuard = catalog.find(LLAMA_GUARD);
	if (hazards.includes(INJECTION) && !servesInjections(services)) return PROMPT_GUARD;
	const isJudged = hazards.some((hazard) => hazard !== INJECTION);
	const isJudge = llamaGuard ? isServed(llamaGuard, services) : routing.find(LLAMA_GUARD)?.named === true;
	return isJudged && !isJudge ? LLAMA_GUARD : undefined;
}

const servesInjections = ({ routing }: GatewayServices): boolean =>
	routing.find(PROMPT_GUARD)?.named === true;

/** `caller`: verified. */
export function guardModels(caller: Caller, services: GatewayServices): GuardrailServices {
	const answer = async (model: string, fields: object, signal: AbortSignal): Promise<unknown> => {
		const inputs = { fields: { ...fields, max_tokens: MAX_TOKENS, temperature: 0 } };
		const id = services.uuid();
		const { body } = await run({ id, caller, model, dialect: loadDialect, inputs, signal }, services);
		return body.kind === "json" ? (body.value ?? JSON.parse(body.text ?? "null")) : undefined;
	};
	return {
		waitUntil: services.waitUntil,
		async judge(messages, signal) {
			const fields = { messages, response_format: { type: "json_object" } };
			return Judged().parse(await answer(LLAMA_GUARD, fields, signal)).response;
		},
		async detectInjection(text, signal) {
			if (!servesInjections(services)) throw new AiError("noSuchModel");
			const messages = [{ role: "user", content: text }];
			const response = Labelled().parse(await answer(PROMPT_GUARD, { messages }, signal));
			const [label, index, benign] = LABEL.exec(response) ?? [];
			if (label === undefined) throw new AiError("executionFailed");
			return index !== "0" && benign === undefined;
		},
	};
}
