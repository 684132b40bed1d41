/**
 * Servers with Anthropic's Messages API: https://docs.anthropic.com/en/api/messages. The target's address has no `/v1`, as
 * in Anthropic's SDKs.
 *
 * Omitted, because the API has no such fields: `seed`, penalties, `logit_bias`, log probabilities. Several answers (`n`) and
 * raw prompts are refused, so that another target is tried.
 */
import type { Target } from "../backend.ts";
import { requestChat } from "../completion.ts";
import { defineBackend, type Handler } from "../handler.ts";
import { withoutDefaults } from "../own-models.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { completionOf, MessageReply } from "./reply.ts";
import { requestOf } from "./request.ts";
import { MessageTranslator } from "./stream.ts";

const API_VERSION = "2023-06-01";
const BETA_HEADER = "anthropic-beta";

const generateText: Handler<"text-generation"> = async (sent, call) => {
	const input = withoutDefaults(sent, call);
	const seals = await call.seals?.();
	const { body, betas = [], ...fields } = requestOf(input, call, seals);
	const form = { ...fields, seals, search: input.web_search };
	return requestChat(withBetas(call, betas), input, {
		path: "/v1/messages",
		body,
		schema: MessageReply,
		completion: (reply) => completionOf(reply, form, call),
		translator: () => new MessageTranslator(call, form),
	});
};

/** Adds the caller's betas to those of the operator's headers. */
function withBetas(call: Call, betas: readonly string[]): Call {
	if (betas.length === 0) return call;
	const { [BETA_HEADER]: operators, ...headers } = call.target.headers;
	const all = new Set([...(operators?.split(/\s*,\s*/) ?? []), ...betas]);
	return { ...call, target: { ...call.target, headers: { ...headers, [BETA_HEADER]: [...all].join(",") } } };
}

/** Sends the key in Anthropic's header. The operator's headers may set another version, or betas. */
function withApiKey({ key, ...target }: Target): Target {
	const headers = new Headers(target.headers);
	if (!headers.has("anthropic-version")) headers.set("anthropic-version", API_VERSION);
	if (key !== undefined) headers.set("x-api-key", key);
	return { ...target, headers: Object.fromEntries(headers) };
}

export const anthropic = defineBackend(
	{ "text-generation": generateText },
	(call) => ({
		...call,
		target: withApiKey(call.target),
	}),
	{ readsBreakpoints: true },
);
