/**
 * Anthropic's Messages API, and servers that speak it: https://docs.anthropic.com/en/api/messages. The target's address
 * is without `/v1`, as Anthropic's own SDKs have it.
 *
 * What the API has no field for is left out: `seed`, penalties, `logit_bias`, log probabilities. Several answers (`n`) and
 * a `prompt` without a conversation are refused, for another target to answer.
 */
import type { Backend, Target } from "../backend.ts";
import { generateText } from "./chat.ts";

const API_VERSION = "2023-06-01";

export const anthropic: Backend = (target, world) => {
	const addressed = withApiKey(target);
	return {
		"text-generation": (input, context) => generateText(input, { ...context, target: addressed, world }),
	};
};

/** The key goes where Anthropic looks for it. The operator may have set another version, or the betas to use. */
function withApiKey({ key, ...target }: Target): Target {
	const headers = new Headers(target.headers);
	if (!headers.has("anthropic-version")) headers.set("anthropic-version", API_VERSION);
	if (key !== undefined) headers.set("x-api-key", key);
	return { ...target, headers: Object.fromEntries(headers) };
}
