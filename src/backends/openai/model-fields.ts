/**
 * Changes a request for OpenAI's service to what its model accepts. Defaults of the catalogue are those of the models of Workers
 * AI, which OpenAI does not serve. A field that the model refuses is left out, and named if the caller set it.
 */
import type { ChatInput } from "../../tasks/text-generation/types.ts";
import { withoutDefaults } from "../own-models.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { serviceAt } from "./hosts.ts";
import { effortOf, type OpenAiApi, type OpenAiModel, openAiModel } from "./model-table.ts";

/** Reasoning models refuse them even with their default values. */
const REFUSED_WITH_REASONING = [
	"temperature",
	"top_p",
	"frequency_penalty",
	"presence_penalty",
	"logit_bias",
	"logprobs",
	"top_logprobs",
] as const;

/** `undefined`: another host, or a model that is not in the table. */
export const modelAt = ({ target }: Pick<Call, "target">): OpenAiModel | undefined =>
	serviceAt(target).isOpenAi ? openAiModel(target.model) : undefined;

export function withModelFields(sentInput: ChatInput, call: Call, api: OpenAiApi): ChatInput {
	const input = withoutDefaults(sentInput, call);
	if (!serviceAt(call.target).isOpenAi) return input;
	const { reasoning_effort: sent, ...fields } = input;
	const row = modelAt(call);
	const effort = row ? effortOf(sent, row, api) : (sent ?? undefined);
	if (row && effort === undefined && sent) call.report?.dropped.push("reasoning_effort");
	const changed: ChatInput = { ...fields, ...(effort !== undefined && { reasoning_effort: effort }) };
	if (!row) return changed;
	if (row.sampling === "never" || (row.sampling === "without reasoning" && effort !== "none"))
		for (const name of REFUSED_WITH_REASONING) {
			if (changed[name] !== undefined) call.report?.dropped.push(name);
			delete changed[name];
		}
	const { prompt_cache_retention, ...passthrough } = changed.passthrough ?? {};
	if (prompt_cache_retention !== undefined && !row.cacheRetention) {
		call.report?.dropped.push("prompt_cache_retention");
		changed.passthrough = passthrough;
	}
	return changed;
}
