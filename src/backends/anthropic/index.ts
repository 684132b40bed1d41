/**
 * Servers with Anthropic's Messages API: https://docs.anthropic.com/en/api/messages. The target's address has no `/v1`, as
 * in Anthropic's SDKs.
 *
 * Omitted, because the API has no such fields: `seed`, penalties, `logit_bias`, log probabilities. Several answers (`n`) and
 * raw prompts are refused, so that another target is tried.
 */
import type { Backend, Target } from "../backend.ts";
import { generateText } from "./chat.ts";

const API_VERSION = "2023-06-01";

export const anthropic: Backend = (target, services) => {
	const withKey = withApiKey(target);
	return {
		"text-generation": (input, context) => generateText(input, { ...context, target: withKey, services }),
	};
};

/** Sends the key in Anthropic's header. The operator's headers may set another version, or betas. */
function withApiKey({ key, ...target }: Target): Target {
	const headers = new Headers(target.headers);
	if (!headers.has("anthropic-version")) headers.set("anthropic-version", API_VERSION);
	if (key !== undefined) headers.set("x-api-key", key);
	return { ...target, headers: Object.fromEntries(headers) };
}
