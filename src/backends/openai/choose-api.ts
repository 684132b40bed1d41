/**
 * Which of OpenAI's two APIs for chats a call uses. Setting `api` of the backend; `auto` chooses by the table of OpenAI's models,
 * for a model that is not in it by the catalogue's `requestFormats`, and is chat completions for any other host. A refusal that names the
 * other API is learned for the backend and its model.
 */
import { isRecord } from "../../core/json.ts";
import type { Model } from "../../models/model.ts";
import type { ChatInput } from "../../tasks/text-generation/types.ts";
import type { Target } from "../backend.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { serviceAt } from "./hosts.ts";
import { effortOf, type OpenAiApi, type OpenAiModel, openAiModel } from "./model-table.ts";

/** `model`: of the catalogue, which a route may serve by another model of the service. */
interface ApiCall extends Pick<Call, "target"> {
	model: Pick<Model, "id" | "requestFormats">;
}

export function apiOf(input: ChatInput, call: ApiCall): OpenAiApi {
	const { target } = call;
	if (target.api === "chat" || target.api === "responses") return target.api;
	const { isOpenAi } = serviceAt(target);
	const row = isOpenAi ? openAiModel(target.model) : undefined;
	if (row && !row.apis.includes("chat")) return "responses";
	if (row && !row.apis.includes("responses")) return "chat";
	if (offersFunctions(input) && target.observed?.chatRefusesTools?.has(target.model)) return "responses";
	if (!isOpenAi) return "chat";
	const listed = row ? undefined : listedApi(call);
	if (listed) return listed;
	if (row && offersFunctions(input) && !takesTools(input, row)) return "responses";
	if (requestsSearch(input) && (input.n ?? 1) === 1) return "responses";
	if (needsChat(input)) return "chat";
	if (input.verbatim?.dialect === "responses") return "responses";
	// Only Responses reads its reasoning of earlier turns.
	const hasReasoning = input.messages.some(({ thinking_blocks }) => thinking_blocks?.length);
	return row && row.efforts.length > 0 && hasReasoning ? "responses" : "chat";
}

/** Why a stream cannot reach its caller as the target sends it. `undefined`: it can. */
export function streamChange(
	input: ChatInput,
	{ target, model }: { target: Target; model: Model },
): string | undefined {
	if (input.prompt !== undefined) return undefined;
	if (serviceAt(target).host?.signed) return "the host's signatures are sealed";
	if (apiOf(input, { target, model }) === "responses")
		return "the backend is called by OpenAI's Responses API";
	return undefined;
}

/** The only API of the catalogue's model. */
function listedApi({ model: { id, requestFormats = [] }, target }: ApiCall): OpenAiApi | undefined {
	if (id.slice(id.lastIndexOf("/") + 1) !== target.model) return undefined;
	const hasChat = requestFormats.includes("chat-completions");
	const hasResponses = requestFormats.includes("responses");
	if (hasChat === hasResponses) return undefined;
	return hasChat ? "chat" : "responses";
}

const offersFunctions = ({ tools }: ChatInput): boolean => (tools?.length ?? 0) > 0;

function takesTools({ reasoning_effort: sent }: ChatInput, row: OpenAiModel): boolean {
	const effort = effortOf(sent, row, "chat");
	switch (row.chatTools) {
		case "any effort":
			return true;
		case "no set effort":
			return effort === undefined || effort === "none";
		case "none":
			return effort === "none";
		case "never":
			return false;
		default:
			return row.chatTools satisfies never;
	}
}

/** Chat completions searches only with models that have no other API. */
export const requestsSearch = ({ web_search, passthrough }: ChatInput): boolean =>
	web_search !== undefined || isRecord(passthrough?.web_search_options);

/** Parts of a request that Responses does not have and that the answer depends on. */
const needsChat = ({ n = 1, messages, passthrough = {}, stop, seed }: ChatInput): boolean =>
	n > 1 ||
	stop !== undefined ||
	seed !== undefined ||
	passthrough.modalities !== undefined ||
	passthrough.prediction !== undefined ||
	messages.some(({ content }) => Array.isArray(content) && content.some(({ input_audio }) => input_audio));

/** The refusal of function tools with reasoning: `param` is `reasoning_effort`, and the message names the other API. */
export function namesResponses(body: unknown): boolean {
	const error = isRecord(body) && isRecord(body.error) ? body.error : undefined;
	return (
		error?.param === "reasoning_effort" &&
		typeof error.message === "string" &&
		error.message.includes("/v1/responses")
	);
}
